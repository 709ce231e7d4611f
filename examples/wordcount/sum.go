package main

import (
	"cmp"
	"context"
	"slices"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/work"
)

// total is the result of the job.
type total struct {
	Files  int    `json:"files"`
	Chunks int    `json:"chunks"`
	Words  int    `json:"words"`
	Top    []word `json:"top"`
}

type word struct {
	Word  string `json:"word"`
	Times int    `json:"times"`
}

// sum adds up what was counted.
func (w words) sum(ctx context.Context, g *rota.Grant, c struct {
	Pause work.Duration `json:"pause"` // before each chunk
}) error {
	var m manifest
	if err := w.getJSON(place(g, "chunks.json"), &m); err != nil {
		return err
	}
	t := total{Files: m.Files, Chunks: m.Chunks}
	times := make(map[string]int)
	for i := range m.Chunks {
		if err := sleep(ctx, c.Pause); err != nil {
			return err
		}
		var n counted
		if err := w.getJSON(place(g, "counts", chunkName(1+i)+".json"), &n); err != nil {
			return err
		}
		t.Words += n.Words
		for word, k := range n.Of {
			times[word] += k
		}
	}
	t.Top = top(times, 10)
	g.Value("wordcount.words", float64(t.Words), nil)
	return w.putJSON(g, place(g, "total.json"), t)
}

// top are the words that come most often.
func top(times map[string]int, most int) []word {
	all := make([]word, 0, len(times))
	for w, n := range times {
		all = append(all, word{w, n})
	}
	slices.SortFunc(all, func(a, b word) int {
		return cmp.Or(cmp.Compare(b.Times, a.Times), cmp.Compare(a.Word, b.Word))
	})
	return all[:min(most, len(all))]
}
