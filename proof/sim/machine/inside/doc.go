// Package inside looks into the state of a member, for the keys by which a walk knows states again.
//
// What decides a member's future is the business of its package, and nobody calls for it but a walk. So the packages of
// the protocols say nothing of keys: a key names the fields that it is made of by their paths.
//
// A path that leads nowhere, or to something of another type, panics: a field that was renamed is not left out in
// silence. A field that is new is in no key: who adds one to a state looks at the key of its protocol.
package inside
