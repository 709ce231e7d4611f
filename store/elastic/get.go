package elastic

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/rota-run/rota/store"
)

// Get implements store.Docs.
func (s *Store) Get(ctx context.Context, key string) (store.Doc, error) {
	docs, err := s.gets(ctx, []string{key})
	if err == nil && docs[0].Version == "" {
		err = store.ErrNotFound
	}
	if err != nil {
		return store.Doc{}, s.place.Failed(err, "get %q", key)
	}
	return docs[0], nil
}

// Gets implements store.GetMany, in one request.
func (s *Store) Gets(ctx context.Context, keys []string) ([]store.Doc, error) {
	docs, err := s.gets(ctx, keys)
	return docs, s.place.Failed(err, "get %d documents", len(keys))
}

func (s *Store) gets(ctx context.Context, keys []string) ([]store.Doc, error) {
	if err := store.CheckKeys(keys); err != nil {
		return nil, err
	}
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	found, err := s.settled(ctx, keys)
	if err != nil {
		return nil, err
	}
	docs := make([]store.Doc, len(keys))
	for i, f := range found {
		docs[i] = f.Doc
	}
	return docs, nil
}

// finding is a document, or its absence, in one copy of the shard.
type finding struct {
	store.Doc
	spot
	by string
}

// hit is a document in an answer.
type hit struct {
	ID     string          `json:"_id"`
	Seq    int64           `json:"_seq_no"`
	Term   int64           `json:"_primary_term"`
	Found  bool            `json:"found"`
	Source json.RawMessage `json:"_source"`
	Error  *fault          `json:"error"`
}

func (h hit) finding() (finding, error) {
	value, by, err := decode(h.ID, h.Source)
	at := spot{h.Seq, h.Term}
	return finding{store.Doc{Key: h.ID, Value: value, Version: at.version()}, at, by}, err
}

// copyOfAll makes all handles read the same copy of the shard, as long as it is there: two copies may differ while a write is on its way to them.
const copyOfAll = "preference=rota"

// look reads documents once. A server reads the documents of one shard in their order.
func (s *Store) look(ctx context.Context, keys []string) ([]finding, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	ids, err := json.Marshal(map[string][]string{"ids": keys})
	if err != nil {
		return nil, err
	}
	a, err := s.ask(ctx, request{"POST", "/" + s.o.Index + "/_mget?realtime=true&" + copyOfAll, ids})
	if err != nil {
		return nil, err
	}
	if !a.good() {
		return nil, readError(a)
	}
	var found struct {
		Docs []hit `json:"docs"`
	}
	if err := json.Unmarshal(a.body, &found); err != nil || len(found.Docs) != len(keys) {
		return nil, fmt.Errorf("%w: %d documents were asked for, and the answer has %d: %w", store.ErrUnavailable, len(keys), len(found.Docs), err)
	}
	out := make([]finding, len(keys))
	for i, h := range found.Docs {
		switch {
		case h.ID != keys[i]:
			return nil, fmt.Errorf("%w: document %q was asked for, and the answer has %q", store.ErrUnavailable, keys[i], h.ID)
		case h.Error != nil:
			return nil, readError(answer{status: 500, body: mustFault(*h.Error)})
		case !h.Found:
			out[i] = finding{Doc: store.Doc{Key: keys[i]}}
			continue
		}
		if out[i], err = h.finding(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// mustFault is the answer that would have said a fault of one document.
func mustFault(f fault) []byte {
	b, _ := json.Marshal(map[string]fault{"error": f}) // two texts
	return b
}
