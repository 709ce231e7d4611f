package supervisor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/work"
)

// savedPosition is the document as this run saw it last; a guess, checked by each write.
type savedPosition struct {
	known   bool
	version store.Version
	content storedPosition
}

// storedPosition is the document of one partition.
type storedPosition struct {
	Partition cluster.PartitionID `json:"partition"`
	Token     cluster.Token       `json:"token"`
	Position  []byte              `json:"position"`
	// RoundMS is when the last round of a periodic partition was planned, by the wall clock; 0 where rounds are not
	// kept.
	RoundMS int64 `json:"round_ms,omitempty"`
}

func (p *storedPosition) equal(o *storedPosition) bool {
	return p.Partition == o.Partition && p.Token == o.Token && p.RoundMS == o.RoundMS &&
		bytes.Equal(p.Position, o.Position)
}

// positionTries bounds the rounds of read and write of one SavePosition; only writers of one partition compete, and of
// those the older ones give up.
const positionTries = 8

var errNoPositions = errors.New("this member has no store for positions")

// LoadPosition implements Host.
func (r *run) LoadPosition(ctx context.Context, g *work.Grant) ([]byte, error) {
	_, p, err := r.readPosition(ctx, g.Partition, g.Token)
	if err != nil {
		return nil, fmt.Errorf("load position of %s: %w", describe(g.Partition, g.Token), err)
	}
	return p.Position, nil
}

// SavePosition implements Host.
func (r *run) SavePosition(ctx context.Context, g *work.Grant, position []byte) error {
	err := r.savePosition(ctx, g, position)
	if err != nil {
		return fmt.Errorf("save position of %s: %w", describe(g.Partition, g.Token), err)
	}
	return nil
}

func (r *run) savePosition(ctx context.Context, g *work.Grant, position []byte) error {
	position = bytes.Clone(position) // the caller may use it again
	return r.changePosition(ctx, g.Partition, g.Token, func(p *storedPosition) { p.Position = position })
}

// changePosition changes one part of the document and leaves the rest as it is.
func (r *run) changePosition(ctx context.Context, id cluster.PartitionID, token cluster.Token,
	change func(*storedPosition)) error {
	version, p, err := r.knownPosition(ctx, id, token)
	var wrote error
	for try := 0; err == nil && try < positionTries; try++ {
		p.Partition, p.Token = id, token
		change(&p)
		if wrote = r.writePosition(ctx, p, version); wrote == nil {
			return nil
		}
		if !errors.Is(wrote, store.ErrConflict) && !errors.Is(wrote, store.ErrUnknown) {
			return wrote
		}
		// Somebody else wrote, or perhaps it was this write: the document tells.
		if version, p, err = r.readPosition(ctx, id, token); err != nil {
			break
		}
		wanted := p
		wanted.Partition, wanted.Token = id, token
		change(&wanted)
		if p.equal(&wanted) {
			return nil
		}
	}
	return errors.Join(err, wrote)
}

func (r *run) writePosition(ctx context.Context, p storedPosition, v store.Version) error {
	value, err := json.Marshal(p)
	if err != nil {
		return err
	}
	v, err = r.s.conf.Positions.Put(ctx, store.Doc{Key: positionKey(p.Partition), Value: value, Version: v})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.saved = savedPosition{known: err == nil, version: v, content: p}
	return err
}

// knownPosition is what to write over: the document as it was seen last, or as it is.
func (r *run) knownPosition(ctx context.Context, id cluster.PartitionID,
	token cluster.Token) (store.Version, storedPosition, error) {
	r.mu.Lock()
	saved := r.saved
	r.mu.Unlock()
	if saved.known && r.s.conf.Positions != nil {
		return saved.version, saved.content, nil
	}
	return r.readPosition(ctx, id, token)
}

// readPosition reads the document; ErrToken if a newer owner wrote it.
func (r *run) readPosition(ctx context.Context, id cluster.PartitionID,
	token cluster.Token) (store.Version, storedPosition, error) {
	doc, p, err := r.storedPosition(ctx, id)
	if err != nil {
		return "", p, err
	}
	return doc.Version, p, r.saw(doc.Version, p, token)
}

// saw remembers the document; ErrToken if a newer owner wrote it.
func (r *run) saw(v store.Version, p storedPosition, token cluster.Token) error {
	if p.Token > token {
		return work.ErrToken
	}
	if p.Partition == r.id {
		p.Partition = r.id // one text for both
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.saved = savedPosition{known: true, version: v, content: p}
	return nil
}

// storedPosition reads the document of a partition; one without a version if there is none.
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
	p, err = decodePosition(doc)
	return doc, p, err
}

func decodePosition(doc store.Doc) (p storedPosition, err error) {
	if err := json.Unmarshal(doc.Value, &p); err != nil {
		return p, fmt.Errorf("decode %s: %w", doc.Key, err)
	}
	return p, nil
}

const positionPrefix = "position/"

// positionKey is the key of a partition's position.
func positionKey(p cluster.PartitionID) string { return positionPrefix + protocol.Segment(p, "") }

var _ work.Positions = (*run)(nil)

// LoadPositions implements Positions.
func (r *run) LoadPositions(ctx context.Context, of []cluster.PartitionID) ([][]byte, error) {
	if r.s.conf.Positions == nil {
		return nil, errNoPositions
	}
	keys, out := make([]string, len(of)), make([][]byte, len(of))
	for i, id := range of {
		keys[i] = positionKey(id)
	}
	docs, err := store.GetAll(ctx, r.s.conf.Positions, keys)
	if err != nil {
		return nil, err
	}
	for i, d := range docs {
		if d.Version == "" {
			continue
		}
		p, err := decodePosition(d)
		if err != nil {
			return nil, err
		}
		out[i] = p.Position
	}
	return out, nil
}
