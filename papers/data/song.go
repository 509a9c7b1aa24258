package data

import "math"

// SampleRate is the number of samples a second of SimpleSong.
const SampleRate = 44100

// songNotes are the notes of SimpleSong (arXiv 2212.07551, table 2), then others that are not played, and songHertz their
// frequencies. The paper says "notes of other frequencies" and names none; those after the sixth are ours.
var (
	songNotes = []string{"C4", "E4", "G4", "C5", "E5", "G5", "D4", "F4", "A4", "B4", "D5", "F5", "A5", "B5", "C6", "C3"}
	songHertz = []int{256, 330, 392, 512, 660, 784, 294, 349, 440, 494, 587, 698, 880, 988, 1046, 128}
)

// Song is SimpleSong of appendix 12.1 of BanditMIPS: intervals A and B in turn, at 44,100 Hz, A = C4 + 2 E4 + 3 G4 and
// B = 3 G4 + 2.5 C5 + 1.5 E5. Its atoms are the sines of notes.
//
// Sines of whole, different frequencies below 22,050 Hz are orthogonal over a whole second and have squared norm 44,100/2
// in it. The coefficient of a note over the whole song is therefore the mean of its weights in A and B:
//
//	G4 (3+3)/2 = 3,  C5 2.5/2 = 1.25,  E4 2/2 = 1,  E5 1.5/2 = .75,  C4 1/2 = .5
//
// and subtracting one note changes no other's.
type Song struct {
	notes    int
	interval int // samples of one interval
	d        int
	wave     []float64 // one second of 1 Hz
}

// MaxNotes is the number of notes that a song can have as atoms.
const MaxNotes = 16

// NewSong is repeats times A and B, each of that many seconds, and the first of the notes as atoms, 6 to MaxNotes. The
// paper says that an interval is one minute, but counts d = 88,200 a repeat, which is one second.
func NewSong(notes, seconds, repeats int) *Song {
	s := &Song{notes: notes, interval: seconds * SampleRate, wave: make([]float64, SampleRate)}
	s.d = 2 * s.interval * repeats
	for p := range s.wave {
		s.wave[p] = math.Sin(2 * math.Pi * float64(p) / SampleRate)
	}
	return s
}

func (s *Song) sine(hertz, j int) float64 { return s.wave[hertz*(j%SampleRate)%SampleRate] }

// Signal is sample j of the song.
func (s *Song) Signal(j int) float64 {
	if j/s.interval%2 == 0 {
		return s.sine(256, j) + 2*s.sine(330, j) + 3*s.sine(392, j)
	}
	return 3*s.sine(392, j) + 2.5*s.sine(512, j) + 1.5*s.sine(660, j)
}

func (s *Song) Len() int { return s.notes }
func (s *Song) Dim() int { return s.d }

// Pull computes sample j of the listed notes.
func (s *Song) Pull(j int, arms []int, dst []float64) {
	for p, i := range arms {
		dst[p] = s.sine(songHertz[i], j)
	}
}

// Note names an atom, such as C4.
func (s *Song) Note(i int) string { return songNotes[i] }

// NormsSquared are the squared norms of the atoms.
func (s *Song) NormsSquared() []float64 {
	norms := make([]float64, s.notes)
	for i := range norms {
		norms[i] = float64(s.d) / 2
	}
	return norms
}

// SongPlayed returns the notes of a song and their coefficients, the strongest first.
func SongPlayed() (notes []string, coefficients []float64) {
	return []string{"G4", "C5", "E4", "E5", "C4"}, []float64{3, 1.25, 1, .75, .5}
}
