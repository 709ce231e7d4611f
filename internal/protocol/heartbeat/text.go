package heartbeat

import (
	"encoding/json"
	"time"
)

// Text is the content of a heartbeat document.
type Text struct {
	Member string `json:"member,omitempty"` // the owner, if it is a member
	Owner  string `json:"owner,omitempty"`  // the owner, if it is a process with locks that has a name
	// State is [Live], or [Fenced] for good, under the protocol whose members fence whom they take over. Tied: it goes
	// with its process.
	State string `json:"state,omitempty"`
	Tied  bool   `json:"tied,omitempty"`
	AtMS  int64  `json:"at_ms"` // by the owner's wall clock, for people: it decides nothing
	// Guardian says whether another process would end the owner's session at its death: "on", or the reason why none
	// would; "" if none was requested. For people.
	Guardian string `json:"guardian,omitempty"`
	TTLMS    int64  `json:"ttl_ms"` // how long others wait for the owner; see [Text.States]
	// UsualMS is the owner's usual TTL where it states a longer one, because its renewals are slow; see [Pace]. For
	// people.
	UsualMS int64 `json:"usual_ttl_ms,omitempty"`
}

// MaxTTL is the longest TTL that an owner may have, and so the longest that is believed: nobody waits longer for a
// heartbeat that stays unchanged.
const MaxTTL = 24 * time.Hour

// maxDocument bounds a document that is read: names of two owners, a sentence, and two numbers.
const maxDocument = 64 << 10

// The states.
const (
	Live   = "live"
	Fenced = "fenced"
)

// States fills in the TTL that an owner states, and its usual one where that is another: in whole milliseconds, rounded
// up.
func (t Text) States(usual, ttl time.Duration) Text {
	if t.TTLMS, t.UsualMS = wholeMS(ttl), 0; ttl != usual {
		t.UsualMS = wholeMS(usual)
	}
	return t
}

// wholeMS are whole milliseconds, rounded up.
func wholeMS(d time.Duration) int64 { return (d + time.Millisecond - 1).Milliseconds() }

// StatedTTL is how long others wait for the owner of a document, as the document states; 0 if it states no reasonable
// duration.
func StatedTTL(document []byte) time.Duration {
	t := textOf(document)
	if t.TTLMS < 1 || t.TTLMS > MaxTTL.Milliseconds() {
		return 0
	}
	return time.Duration(t.TTLMS) * time.Millisecond
}

// StateOf is the state that a document names; "" for none.
func StateOf(document []byte) string { return textOf(document).State }

// textOf is what a document says; nothing where it is none.
func textOf(document []byte) (t Text) {
	if len(document) > maxDocument || json.Unmarshal(document, &t) != nil {
		return Text{}
	}
	return t
}
