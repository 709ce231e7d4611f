package protocol

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/store"
)

// PlaceKey is the document that says by what the members of a place agree. What it says is never changed.
const PlaceKey = "protocol"

// ErrPlaceDamaged reports that the document that names the protocol of a place cannot be read.
var ErrPlaceDamaged = errors.New("the document that names the protocol is damaged")

// HeartbeatPrefix is the key prefix of the members' heartbeats, each under PREFIX<member>/.
const HeartbeatPrefix = "pulse/"

// NodePrefix is where they are under the protocol lease, as its source document names them.
const NodePrefix = "node/"

// longestSegment leaves room for the folder's name in a key.
const longestSegment = 200

// Segment is a partition as one segment of a key: every byte but letters, digits, "._-" and those of also is written as
// =XX. One that is too long then is named by its digest, after "@".
func Segment(p cluster.PartitionID, also string) string {
	var b strings.Builder
	for _, c := range []byte(p) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			strings.IndexByte("._-"+also, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "=%02X", c)
		}
	}
	if b.Len() > longestSegment {
		sum := sha256.Sum256([]byte(p))
		return "@" + hex.EncodeToString(sum[:])
	}
	return b.String()
}

// Place is what all members of a place have in common.
type Place struct {
	Protocol string `json:"protocol"` // its name; "" if nobody has ever joined or written a command
	// Queue is the place of the queue that has the segments of flows, OwnQueue for the store's own; "" if no member has
	// ever joined.
	Queue string `json:"queue,omitempty"`
}

// OwnQueue is the Queue of a Place whose flows are in the store by which the members agree.
const OwnQueue = "store"

// At returns what the members of this place have in common. Its error is that of the store, or reports that the
// document is damaged.
func At(ctx context.Context, docs store.Docs) (Place, error) {
	p, _, err := readPlace(ctx, docs)
	return p, err
}

func readPlace(ctx context.Context, docs store.Docs) (p Place, v store.Version, err error) {
	d, err := docs.Get(ctx, PlaceKey)
	if errors.Is(err, store.ErrNotFound) {
		return p, "", nil
	}
	if err != nil {
		return p, "", fmt.Errorf("read which protocol the cluster uses: %w", err)
	}
	if err := json.Unmarshal(d.Value, &p); err != nil || p.Protocol == "" {
		return Place{}, "", fmt.Errorf("read document %q: %w: %.80q", PlaceKey, ErrPlaceDamaged, d.Value)
	}
	return p, d.Version, nil
}

// claimTries bounds how often a place is read again because another process has changed it: once for its protocol, once
// for its queue.
const claimTries = 3

// Claim sets what the members of a place have in common, or verifies it; a Queue of "" does neither. Its error is an
// *OtherProtocolError or *OtherQueueError if the place has another one, else that of the store; after an unknown
// outcome it may be called again.
func Claim(ctx context.Context, docs store.Docs, want Place) (err error) {
	for range claimTries {
		has, version, readErr := readPlace(ctx, docs)
		switch {
		case readErr != nil:
			return readErr
		case has.Protocol != "" && has.Protocol != want.Protocol:
			return &OtherProtocolError{Has: has.Protocol, Asked: want.Protocol}
		case has.Queue != "" && want.Queue != "" && has.Queue != want.Queue:
			return &OtherQueueError{Has: has.Queue, Asked: want.Queue}
		case has.Protocol != "" && (has.Queue != "" || want.Queue == ""):
			return nil
		}
		value, jsonErr := json.Marshal(want)
		if jsonErr != nil {
			return jsonErr
		}
		if _, err = docs.Put(ctx, store.Doc{Key: PlaceKey, Value: value, Version: version}); err == nil {
			return nil
		}
		if !errors.Is(err, store.ErrConflict) {
			break
		}
	}
	return fmt.Errorf("note which protocol the cluster uses: %w", err)
}

// ClientAt makes a client of a protocol. It claims the place first: what it writes into one that is new would be lost
// to members of another protocol.
func ClientAt(ctx context.Context, p Protocol, s Store) (Client, error) {
	c, err := p.Client(s)
	if err == nil {
		err = Claim(ctx, s, Place{Protocol: p.Name()})
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}
