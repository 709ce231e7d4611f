package main

import (
	"context"
	"hash/fnv"
	"strings"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/work"
)

// counted is what a chunk has: how many words, and of each how many.
type counted struct {
	Words int            `json:"words"`
	Of    map[string]int `json:"of"`
	By    string         `json:"by"` // who counted it, for people
}

// count counts chunks, on many slots at once. Each begins elsewhere and passes over what others have done, so that the
// work is shared without a word between them; where two count the same chunk, both say the same. The first that finds
// all of them counted ends the task for all.
func (w words) count(ctx context.Context, g *rota.Grant, c struct {
	Pause work.Duration `json:"pause"` // before each result
}) error {
	var m manifest
	if err := w.getJSON(place(g, "chunks.json"), &m); err != nil {
		return err
	}
	first := begin(g.Key, m.Chunks)
	for i := range m.Chunks {
		if err := w.countChunk(ctx, g, 1+(first+i)%m.Chunks, c.Pause); err != nil {
			return err
		}
	}
	return nil
}

// begin is where a slot begins.
func begin(slot string, chunks int) int {
	if chunks == 0 {
		return 0
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(slot)) // never fails
	return int(h.Sum32() % uint32(chunks))
}

func (w words) countChunk(ctx context.Context, g *rota.Grant, i int, pause work.Duration) error {
	result := place(g, "counts", chunkName(i)+".json")
	if done, err := w.exists(result); err != nil || done {
		return err
	}
	text, err := w.root.ReadFile(place(g, "chunks", chunkName(i)+".txt"))
	if err != nil {
		return err
	}
	n := counted{Of: make(map[string]int), By: g.Key}
	for _, word := range strings.Fields(string(text)) {
		n.Words++
		n.Of[strings.ToLower(strings.Trim(word, `.,;:!?"'()`))]++
	}
	if err := sleep(ctx, pause); err != nil {
		return err
	}
	return w.putJSON(g, result, n)
}
