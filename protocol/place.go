package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/rota-run/rota/store"
)

// PlaceKey is the document that names the protocol of a place in a store. It is created once and never changed.
const PlaceKey = "protocol"

// ErrPlaceDamaged reports that the document that names the protocol of a place cannot be read.
var ErrPlaceDamaged = errors.New("the document that names the protocol is damaged")

// HeartbeatPrefix is the key prefix of the members' heartbeats, each under PREFIX<member>/.
const HeartbeatPrefix = "pulse/"

// NodePrefix is where they are under the protocol lease, as its source document names them.
const NodePrefix = "node/"

// place is the content of that document.
type place struct {
	Protocol string `json:"protocol"`
}

// At returns the name of the protocol of this place; "" if nobody has ever joined or written a command. Its error is that of the store,
// or reports that the document is damaged.
func At(ctx context.Context, docs store.Docs) (string, error) {
	d, err := docs.Get(ctx, PlaceKey)
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read which protocol the cluster uses: %w", err)
	}
	var p place
	if err := json.Unmarshal(d.Value, &p); err != nil || p.Protocol == "" {
		return "", fmt.Errorf("read document %q: %w: %.80q", PlaceKey, ErrPlaceDamaged, d.Value)
	}
	return p.Protocol, nil
}

// Claim sets the protocol of a place, or verifies it. Its error is an *OtherProtocolError if the place has another protocol, else that
// of the store; after an unknown outcome it may be called again.
func Claim(ctx context.Context, docs store.Docs, name string) error {
	has, err := At(ctx, docs)
	if err != nil {
		return err
	}
	if has == "" {
		value, err := json.Marshal(place{name})
		if err != nil {
			return err
		}
		_, err = docs.Put(ctx, store.Doc{Key: PlaceKey, Value: value})
		if err == nil {
			return nil
		}
		if !errors.Is(err, store.ErrConflict) {
			return fmt.Errorf("note which protocol the cluster uses: %w", err)
		}
		if has, err = At(ctx, docs); err != nil {
			return err
		}
	}
	if has != name {
		return &OtherProtocolError{Has: has, Asked: name}
	}
	return nil
}

// ClientAt makes a client of a protocol. It claims the place first: what it writes into one that is new would be lost to members of another protocol.
func ClientAt(ctx context.Context, p Protocol, s Store) (Client, error) {
	c, err := p.Client(s)
	if err == nil {
		err = Claim(ctx, s, p.Name())
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}
