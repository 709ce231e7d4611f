package elastic

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rota-run/rota/store"
)

// listPage is how many documents one search asks for.
const listPage = 256

// List implements store.Docs by searches, which are stale by up to the refresh interval of the index.
func (s *Store) List(ctx context.Context, prefix string) ([]store.Doc, error) {
	docs, err := s.list(ctx, prefix)
	return docs, s.place.Failed(err, "list %q", prefix)
}

func (s *Store) list(ctx context.Context, prefix string) ([]store.Doc, error) {
	if err := store.CheckPrefix(prefix); err != nil {
		return nil, err
	}
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	var docs []store.Doc
	for {
		page, err := s.search(ctx, prefix, docs)
		if err != nil {
			return nil, err
		}
		docs = append(docs, page...)
		if len(page) < listPage {
			return docs, nil
		}
	}
}

// Refresh implements store.Refresher. It needs the privilege maintenance.
func (s *Store) Refresh(ctx context.Context) error { return s.place.Failed(s.refresh(ctx), "refresh") }

func (s *Store) refresh(ctx context.Context) error {
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	a, err := s.ask(ctx, request{"POST", "/" + s.o.Index + "/_refresh", nil})
	if err != nil {
		return err
	}
	if !a.good() {
		return readError(a)
	}
	var made struct {
		Shards struct {
			Failed int `json:"failed"`
		} `json:"_shards"`
	}
	if err := json.Unmarshal(a.body, &made); err != nil {
		return fmt.Errorf("%w: the answer to a refresh: %w", store.ErrUnavailable, err)
	}
	if made.Shards.Failed > 0 {
		return fmt.Errorf("%w: %d copies of the index were not refreshed", store.ErrUnavailable, made.Shards.Failed)
	}
	return nil
}

// search is the next page behind the documents so far.
func (s *Store) search(ctx context.Context, prefix string, before []store.Doc) ([]store.Doc, error) {
	query := map[string]any{
		"size": listPage, "seq_no_primary_term": true, "track_total_hits": false, "sort": []any{map[string]string{"key": "asc"}}, "query": below(prefix),
	}
	if n := len(before); n > 0 {
		query["search_after"] = []string{before[n-1].Key}
	}
	text, err := json.Marshal(query)
	if err != nil {
		return nil, err
	}
	a, err := s.ask(ctx, request{"POST", "/" + s.o.Index + "/_search?allow_partial_search_results=false&" + copyOfAll, text})
	if err != nil {
		return nil, err
	}
	if !a.good() {
		return nil, readError(a)
	}
	var found struct {
		Hits struct {
			Hits []hit `json:"hits"`
		} `json:"hits"`
	}
	if err := json.Unmarshal(a.body, &found); err != nil {
		return nil, fmt.Errorf("%w: the answer to a search: %w", store.ErrUnavailable, err)
	}
	docs := make([]store.Doc, len(found.Hits.Hits))
	for i, h := range found.Hits.Hits {
		f, err := h.finding()
		if err != nil {
			return nil, err
		}
		docs[i] = f.Doc
	}
	return docs, nil
}

// below is a query for keys that begin with a prefix, which is empty or ends with a slash.
func below(prefix string) map[string]any {
	if prefix == "" {
		return map[string]any{"match_all": map[string]any{}}
	}
	end := strings.TrimSuffix(prefix, "/") + string(rune('/'+1))
	return map[string]any{"range": map[string]any{"key": map[string]string{"gte": prefix, "lt": end}}}
}
