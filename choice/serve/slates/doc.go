// Package slates keeps what the service learns about users: for each collection, every user's
// state of the regression of package slate, and the slates that were issued, so that feedback
// can be given for them.
//
// There are only a few types. A [Store] keeps everything in a database of its own. A
// [Request] asks for slates and a [Feedback] holds the rewards of one; [Settings] are a
// collection's parameters and the costs and groups of its items.
//
// # Durability
//
// Slates are in the database before they are sent, with their items' vectors: feedback needs
// neither the version they are of nor the server that made them. Feedback is in the database
// before it is acknowledged: a record in the user's log and the rewards in the slate's
// record, in one transaction, which concurrent feedback shares. After a number of records the
// user's state is written instead, and the log deleted. So a crash at any time loses nothing
// that was acknowledged and counts nothing twice: the slate's record says that its rewards
// were accepted, or nothing was.
//
// A state is loaded when it is needed: the last one written, followed by the log in the order
// in which it was acknowledged. It then equals the state in memory bit for bit. Every record
// has its own checksum; a damaged one is an error that names it, for the users it concerns,
// and is not removed.
//
// # Memory
//
// States and prepared collections stay in memory within a budget; the least recently used
// ones are evicted. Users without feedback have no state.
//
// # Changes of the collection
//
// States belong to the collection's name and to the dimension of its vectors. A new version
// of the same dimension keeps them; slates of the previous version still accept feedback.
// With another dimension requests for slates are refused as a conflict until the states are
// deleted. The deletion of a collection deletes them.
package slates
