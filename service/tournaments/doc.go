// Package tournaments keeps tournaments of package duel for many judges: it hands out
// duels under leases, takes their results, and loses nothing that it acknowledged.
//
// There are only a few types: a [Spec] says what is wanted, a [Tournament] is what
// clients see of it, and a [Store] keeps tournaments in the database and plays them.
//
// # What is durable when
//
// A tournament is a pure function of its configuration and of the calls that changed it,
// in their order, with the times that leases were given at. So the calls are what is
// kept: each is applied in memory, recorded as an event, and answered once the event is
// durable. Events that come while a transaction is under way share the next one.
// Opened again after a crash, a tournament has its events replayed and goes on with the
// duels it would have drawn; every event carries a checksum of its answer, so that a
// replay that went another way is noticed and not believed.
//
// Once the events take more room than the state did, the state itself is recorded in
// their place, and also once drawing their duels again takes long: what is written is
// about twice what came in, and a replay is short. Close does so too: what a program
// has played, another need not play again, which may draw other duels. One that does so
// after a crash refuses the tournament (problem.Unplayable), by the call that went
// another way, and leaves all that is recorded as it is.
//
// An answer also waits for the events before its own, though it may add none: nobody is
// told of a result that a crash could take back. When a transaction fails, all that was
// waiting for it fails, memory forgets the tournament, and the next call finds what is
// durable.
//
// # Memory
//
// Tournaments are read when they are asked for, and the least recently used of those
// that nobody asks for at present make room for others.
//
// # Duels of an arm against itself
//
// Beat-the-Mean draws them, and Double Thompson once it is sure, and they are a fair
// coin's. They are never handed out: the
// store decides them by the coin of the tournament's seed, and they count as any other. A call decides a
// bounded number of them and then answers without duels: it is to be made again.
package tournaments
