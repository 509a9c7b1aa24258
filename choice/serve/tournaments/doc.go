// Package tournaments keeps tournaments of package duel for many judges: it issues duels
// under leases, accepts their results, and loses nothing that it acknowledged.
//
// There are only a few types: a [Spec] is the request for a tournament, a [Tournament] is
// what clients see of it, and a [Store] keeps tournaments in the database and plays them.
//
// # Durability
//
// A tournament is a pure function of its configuration and of the sequence of calls that
// changed it, with the times at which leases were given. So the calls are recorded: each is
// applied in memory, recorded as an event, and answered once the event is durable. Events
// that arrive during a transaction share the next one. After a crash the events are replayed,
// and the tournament continues with the duels that it would have drawn; every event has a
// checksum of its answer, so that a replay that diverges is detected.
//
// Once the events are longer than the state, or drawing their duels again takes long, the
// state is recorded in their place. So about twice the received bytes are written, and a
// replay is short. Close does the same: duels drawn by one release need not be drawn again by
// another, which might draw different ones. If another release replays events after a crash
// and diverges, it refuses the tournament (Unplayable), names the first call that
// differs, and leaves the records unchanged.
//
// A call also waits for the events before its own, though it may add none, so that no client
// learns a result that a crash could revert. When a transaction fails, all calls that wait
// for it fail, the tournament is evicted from memory, and the next call reads the durable
// state.
//
// # Memory
//
// Tournaments are loaded on demand, and the least recently used ones that are not in use are
// evicted.
//
// # Duels of an arm against itself
//
// Beat-the-Mean draws them, and Double Thompson once it is certain. Their result is a fair
// coin's. They are never issued: the store decides them by the coin of the tournament's seed,
// and they count as any other. A call decides a bounded number of them and then answers
// without duels; the client repeats it.
package tournaments
