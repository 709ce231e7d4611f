package main

import (
	"cmp"
	"context"
	"encoding/json"
	"io/fs"
	"path"
	"slices"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/work"
)

// piece is a segment: a part of a text that begins and ends between words. The text itself stays where it is.
type piece struct {
	File string `json:"file"`
	At   int64  `json:"at"`
	Len  int64  `json:"len"`
}

// tally is a segment: how often a piece has a word; or the piece itself, so that the sum can tell which pieces are in
// it.
type tally struct {
	Word  string `json:"word"`
	N     int    `json:"n,omitempty"`
	Piece *piece `json:"piece,omitempty"`
}

// mark is how far the texts were cut: so many whole files, and so many bytes of the next.
type mark struct {
	Files int
	At    int64
}

// flowTypes are the stages of flow.yaml.
func (w words) flowTypes() []rota.Type {
	return []rota.Type{
		rota.NewInput("wordcount.pieces", rota.Input[piecesConfig, piece]{Read: w.pieces}),
		rota.NewStage("wordcount.words", rota.Stage[wordsConfig, piece, tally]{Do: w.countPieces}),
		rota.NewOutput("wordcount.total", rota.Output[struct{}, tally]{Write: w.addTotal, Seal: w.sealTotal}),
	}
}

type piecesConfig struct {
	Text  string        `json:"text"`
	Bytes int64         `json:"bytes"` // of a piece, at least; default 1 MiB
	Pause work.Duration `json:"pause"` // before each piece
}

// pieces cuts the piece after a mark.
func (w words) pieces(ctx context.Context, _ *rota.Grant, c piecesConfig, at []byte,
	out *rota.Sender[piece]) (next []byte, end bool, err error) {
	var m mark
	if at != nil {
		if err := json.Unmarshal(at, &m); err != nil {
			return nil, false, err
		}
	}
	if err := sleep(ctx, c.Pause); err != nil {
		return nil, false, err
	}
	texts, err := w.texts(c.Text)
	if err != nil || m.Files >= len(texts) {
		return nil, true, err
	}
	p, last, err := w.nextPiece(texts[m.Files], m.At, cmp.Or(c.Bytes, 1<<20))
	if err != nil {
		return nil, false, err
	}
	if p.Len > 0 {
		_ = out.Send(p) // an error fails the batch by itself
	}
	m.At += p.Len
	if last {
		m = mark{Files: m.Files + 1}
	}
	next, _ = json.Marshal(m) // never fails
	return next, false, nil
}

// texts are the files that are counted, in order.
func (w words) texts(dir string) ([]string, error) {
	return fs.Glob(w.root.FS(), path.Join(dir, "*.txt"))
}

type wordsConfig struct {
	Pause work.Duration `json:"pause"` // before each batch
}

func (w words) countPieces(ctx context.Context, _ *rota.Grant, c wordsConfig, in []piece,
	out *rota.Sender[tally]) error {
	of := make(tallies)
	for _, p := range in {
		text, err := w.text(p)
		if err != nil {
			return err
		}
		of.add(text)
		_ = out.Send(tally{Piece: &p}) // an error fails the batch by itself
	}
	for word, n := range of {
		_ = out.Send(tally{Word: word, N: *n})
	}
	return sleep(ctx, c.Pause)
}

// addTotal writes a file for each batch. Who gets the same batch again writes the same file: so each word counts once.
func (w words) addTotal(ctx context.Context, g *rota.Grant, _ struct{}, in []tally) error {
	n := sum{counted: counted{Of: make(map[string]int), By: g.Key}}
	for _, t := range in {
		if t.Piece != nil {
			n.Pieces = append(n.Pieces, *t.Piece)
			continue
		}
		n.Words += t.N
		n.Of[t.Word] += t.N
	}
	return w.putJSON(g, place(g, "flow", rota.BatchName(ctx)+".json"), n)
}

// sum is what some batches have.
type sum struct {
	counted
	Pieces []piece `json:"pieces,omitempty"`
	// Of the whole: how many segments are in it, and whether those are all there are, each once.
	Segments int `json:"segments"`
	Lost     int `json:"lost"`
	Doubled  int `json:"doubled"`
}

// sealTotal adds up the files, when all are there, and checks that they have every piece once.
func (w words) sealTotal(_ context.Context, g *rota.Grant, _ struct{}) error {
	files, err := fs.Glob(w.root.FS(), place(g, "flow", "*.json"))
	if err != nil {
		return err
	}
	slices.Sort(files)
	all := sum{counted: counted{Of: make(map[string]int), By: g.Key}}
	for _, name := range files {
		var n sum
		if err := w.getJSON(name, &n); err != nil {
			return err
		}
		all.Words += n.Words
		for word, k := range n.Of {
			all.Of[word] += k
		}
		all.Pieces = append(all.Pieces, n.Pieces...)
	}
	if err := w.check(&all); err != nil {
		return err
	}
	g.Log.Info("counted", "words", all.Words, "segments", all.Segments, "lost", all.Lost, "doubled", all.Doubled)
	all.Pieces = nil
	return w.putJSON(g, place(g, "total.json"), all)
}
