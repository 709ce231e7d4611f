package heartbeat

import (
	"encoding/json"
	"time"
)

// Text is what a heartbeat document says.
type Text struct {
	Member string `json:"member,omitempty"` // whose it is, where that is a member
	Owner  string `json:"owner,omitempty"`  // whose it is, where that is a process with locks, if it has a name
	AtMS   int64  `json:"at_ms"`            // by the owner's wall clock, for people: nothing is decided by it
	// Guardian says whether another process would end the owner's session at its death: "on", or why none would; "" where nobody asked for one. For people.
	Guardian string `json:"guardian,omitempty"`
	TTLMS    int64  `json:"ttl_ms"` // how long others wait for the owner; see [Text.Encode]
}

// longestTTL bounds what is believed, in ms: three years.
const longestTTL = 100_000_000_000

// Encode states the owner's TTL, in whole milliseconds: never less than it is.
func (t Text) Encode(ttl time.Duration) ([]byte, error) {
	t.TTLMS = (ttl + time.Millisecond - 1).Milliseconds()
	return json.Marshal(t)
}

// StatedTTL is how long others wait for the owner of a document, as it says itself; 0 if it does not say it, or nothing that can be meant.
func StatedTTL(document []byte) time.Duration {
	var t Text
	if json.Unmarshal(document, &t) != nil || t.TTLMS < 1 || t.TTLMS > longestTTL {
		return 0
	}
	return time.Duration(t.TTLMS) * time.Millisecond
}
