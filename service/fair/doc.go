// Package fair shares a server's resources among its clients: turns at the processor and
// slots (Queue, Turns), memory for bodies and answers in transit (Memory), and the rate and
// number of each client's requests (Limits). Clients are known by name only.
package fair
