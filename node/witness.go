package node

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
)

// WitnessLine is one line of the file at Config.WitnessPath: what happened on this member and when, by a clock that all processes of the machine
// share and that goes on while it is suspended.
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
	file   *os.File
	log    *slog.Logger
}

func openWitness(path string, member cluster.MemberID, log *slog.Logger) (*witness, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o640)
	if err != nil {
		return nil, fmt.Errorf("open witness file: %w", err)
	}
	return &witness{member, f, log}, nil
}

func (w *witness) note(at protocol.Instant, event string, p cluster.PartitionID, token cluster.Token) {
	if w == nil {
		return
	}
	line, err := json.Marshal(WitnessLine{AtNS: int64(at), Event: event, Member: string(w.member), Partition: string(p), Token: uint64(token)})
	if err == nil {
		_, err = w.file.Write(append(line, '\n'))
	}
	if err != nil {
		w.log.Error("write the witness file", "err", err)
	}
}

func (w *witness) close() {
	if w == nil {
		return
	}
	if err := w.file.Close(); err != nil {
		w.log.Error("close the witness file", "err", err)
	}
}
