// Package inside looks into the state of a member, for the keys by which a walk knows states again.
//
// # Purpose
//
// What decides a member's future is the business of its package, and nobody calls for it but a walk. So the packages of
// the protocols say nothing of keys: a key names the fields that it is made of by their paths.
//
// # Guarantees
//
// A path that leads nowhere ends the walk: a field that was renamed is not left out in silence.
//
// # What is not guaranteed
//
// A field that is new is in no key: who adds one to a state looks at the key of its protocol.
//
// # Failures
//
// A panic for a path that leads nowhere, or to something of another type.
package inside
