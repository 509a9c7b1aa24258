// Package fair shares what a server has among its clients: turns at the processor and
// places (Queue, Turns), memory for what comes and goes over connections (Memory), and
// how much each may ask for (Limits). It knows clients by name alone, and nothing of how
// they are connected.
package fair
