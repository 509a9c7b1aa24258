// Package slates keeps what the service knows of users' tastes: per collection, each
// user's state of the regression that slate learns by, and the slates that
// were handed out, so that feedback for them can come later.
//
// There are only a few types. A [Store] holds it all in one database of its own. A
// [Request] asks for slates and a [Feedback] tells what came of one; [Settings] are
// what a collection's slates are made by: costs and groups of its items.
//
// # What is durable when
//
// Slates are in the database before they are handed out, with their items' vectors:
// feedback needs neither the version they are of nor the server that made them.
// Feedback is in the database before it is acknowledged: a record in the user's log and
// the rewards in the slate's record, in one transaction, which concurrent feedback
// shares. Every so many records the user's state is written instead, and the log
// before it goes. So a process that dies, whenever it does, loses nothing it
// acknowledged and counts nothing twice: the slate's record says that its rewards were
// taken, or nothing was.
//
// A state is read when its user comes: what was written last, and the log behind it,
// in the order in which it was acknowledged. It is then what it was in memory, to the
// bit. Every record has a checksum of its own; one that is damaged is an error that
// names it, for the users it concerns, and stays where it is.
//
// # Memory
//
// States and prepared collections are in memory while they fit into a budget; those
// not used for longest go first. Users without feedback have no state.
//
// # Changes of the collection
//
// States belong to the collection's name and to the dimension of its vectors. A new
// version of the same dimension keeps them; slates of the version before take
// feedback as before. One of another dimension is refused slates as a conflict until
// the states are dropped. A collection that is deleted takes them along.
package slates
