package node

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
)

// WitnessLine is one line of the file at Config.WitnessPath: what happened on this member and when, by a clock that all
// processes of the machine share and that goes on while it is suspended.
type WitnessLine struct {
	AtNS      int64  `json:"at_ns"` // by Config.Clock: CLOCK_BOOTTIME
	Event     string `json:"event"` // start, stop, join, removed
	Member    string `json:"member"`
	Partition string `json:"partition,omitempty"`
	Token     uint64 `json:"token,omitempty"` // start, stop: of the grant; join: the incarnation
}

// witness appends lines, each with one write, so that a reader never sees them mixed. The nil witness does nothing.
type witness struct {
	member cluster.MemberID
	file   io.WriteCloser
	log    *slog.Logger

	mu   sync.Mutex
	lost int  // lines since the last one that was written
	torn bool // the last line was written in part
}

func openWitness(path string, member cluster.MemberID, log *slog.Logger) (*witness, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o640)
	if err != nil {
		return nil, fmt.Errorf("open witness file: %w", err)
	}
	return &witness{member: member, file: f, log: log}, nil
}

func (w *witness) note(at protocol.Instant, event string, p cluster.PartitionID, token cluster.Token) {
	if w == nil {
		return
	}
	line, err := json.Marshal(WitnessLine{AtNS: int64(at), Event: event, Member: string(w.member), Partition: string(p),
		Token: uint64(token)})
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		err = w.write(append(line, '\n'))
	}
	switch {
	case err != nil && w.lost == 0:
		w.lost = 1
		w.log.Error("write the witness file: its lines are lost until it can be written", "err", err)
	case err != nil:
		w.lost++
	case w.lost > 0:
		w.log.Warn("the witness file is written again", "lost", w.lost)
		w.lost = 0
	}
}

// write writes a line, at the beginning of one: a full disk may have taken a part of the one before.
func (w *witness) write(line []byte) error {
	if w.torn {
		line = append([]byte{'\n'}, line...)
	}
	n, err := w.file.Write(line)
	w.torn = w.torn && n == 0 || err != nil && n > 0
	return err
}

func (w *witness) close() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lost > 0 {
		w.log.Error("lines of the witness file are lost", "lost", w.lost)
	}
	if err := w.file.Close(); err != nil {
		w.log.Error("close the witness file", "err", err)
	}
}
