package work

import (
	"bytes"
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

// savedPosition is the version of the document that this run saw last; a guess, checked by each write.
type savedPosition struct {
	known   bool
	version store.Version
}

// storedPosition is the document of one partition.
type storedPosition struct {
	Partition cluster.PartitionID `json:"partition"`
	Token     cluster.Token       `json:"token"`
	Position  []byte              `json:"position"`
}

// positionTries bounds the rounds of read and write of one SavePosition; only writers of one partition compete, and of those the
// older ones give up.
const positionTries = 8

var errNoPositions = errors.New("this member has no store for positions")

// LoadPosition implements Host.
func (r *run) LoadPosition(ctx context.Context, g *Grant) ([]byte, error) {
	_, p, err := r.readPosition(ctx, g)
	if err != nil {
		return nil, fmt.Errorf("load position of %s: %w", describe(g.Partition, g.Token), err)
	}
	return p.Position, nil
}

// SavePosition implements Host.
func (r *run) SavePosition(ctx context.Context, g *Grant, position []byte) error {
	err := r.savePosition(ctx, g, position)
	if err != nil {
		return fmt.Errorf("save position of %s: %w", describe(g.Partition, g.Token), err)
	}
	return nil
}

func (r *run) savePosition(ctx context.Context, g *Grant, position []byte) error {
	value, err := json.Marshal(storedPosition{Partition: g.Partition, Token: g.Token, Position: position})
	if err != nil {
		return err
	}
	version, err := r.positionVersion(ctx, g)
	var wrote error
	for try := 0; err == nil && try < positionTries; try++ {
		if wrote = r.writePosition(ctx, g, value, version); wrote == nil {
			return nil
		}
		if !errors.Is(wrote, store.ErrConflict) && !errors.Is(wrote, store.ErrUnknown) {
			return wrote
		}
		// Somebody else wrote, or perhaps it was this write: the document tells.
		var p storedPosition
		version, p, err = r.readPosition(ctx, g)
		if err == nil && p.Token == g.Token && bytes.Equal(p.Position, position) {
			return nil
		}
	}
	return errors.Join(err, wrote)
}

func (r *run) writePosition(ctx context.Context, g *Grant, value []byte, v store.Version) error {
	v, err := r.s.conf.Positions.Put(ctx, store.Doc{Key: positionKey(g.Partition), Value: value, Version: v})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.saved = savedPosition{known: err == nil, version: v}
	return err
}

// positionVersion is the version to write over: the one seen last, or what stands there.
func (r *run) positionVersion(ctx context.Context, g *Grant) (store.Version, error) {
	r.mu.Lock()
	saved := r.saved
	r.mu.Unlock()
	if saved.known && r.s.conf.Positions != nil {
		return saved.version, nil
	}
	v, _, err := r.readPosition(ctx, g)
	return v, err
}

// readPosition reads the document; ErrToken if a newer owner wrote it.
func (r *run) readPosition(ctx context.Context, g *Grant) (store.Version, storedPosition, error) {
	doc, p, err := r.storedPosition(ctx, g.Partition)
	if err != nil {
		return "", p, err
	}
	if p.Token > g.Token {
		return "", p, ErrToken
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.saved = savedPosition{known: true, version: doc.Version}
	return doc.Version, p, nil
}

// storedPosition reads the document of a partition; one without a version where there is none.
func (r *run) storedPosition(ctx context.Context, id cluster.PartitionID) (doc store.Doc, p storedPosition, err error) {
	if r.s.conf.Positions == nil {
		return doc, p, errNoPositions
	}
	doc, err = r.s.conf.Positions.Get(ctx, positionKey(id))
	switch {
	case errors.Is(err, store.ErrNotFound):
		return store.Doc{}, p, nil
	case err != nil:
		return doc, p, err
	}
	if err := json.Unmarshal(doc.Value, &p); err != nil {
		return doc, p, fmt.Errorf("decode %s: %w", doc.Key, err)
	}
	return doc, p, nil
}

// longestSegment bounds the escaped name in a key; longer ones are named by their digest.
const longestSegment = 200

// positionKey is the key of a partition's position: one segment, every byte but [A-Za-z0-9._-] as =XX.
func positionKey(p cluster.PartitionID) string {
	var b strings.Builder
	for i := range len(p) {
		c := p[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "=%02X", c)
		}
	}
	name := b.String()
	if len(name) > longestSegment {
		sum := sha256.Sum256([]byte(p))
		name = "@" + hex.EncodeToString(sum[:])
	}
	return "position/" + name
}
