package powercut

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/rota-run/rota/protocol"
)

// line is what a writer says of one call: that it is about to be made, and that it was acknowledged.
type line struct {
	Ack   bool   `json:"ack,omitempty"`
	Doc   string `json:"doc,omitempty"` // its key; "" for an append
	Index uint64 `json:"index,omitempty"`
	Sum   string `json:"sum,omitempty"` // of the bytes
	// Segment is put into the flow or, if it is moved, taken to its end; "" for an append or a document.
	Segment string `json:"segment,omitempty"`
	Moved   bool   `json:"moved,omitempty"`
	// AtNS is when it was acknowledged, on the machine's boot clock.
	AtNS int64 `json:"at_ns,omitempty"`
}

// ledger is what writers said of one store. It is safe for concurrent use.
type ledger struct {
	mu       sync.Mutex
	tried    map[string]bool   // entries, by sum
	acked    map[uint64]string // sums of entries, by index
	late     map[uint64]string // the same of what was acknowledged while the power was being cut
	docs     map[string]*document
	segments map[string]*segment
	cutAt    int64         // right before the power was cut; 0 before that
	acks     int           // since the last cut
	news     chan struct{} // has room for one
}

// document is what is known of one key.
type document struct {
	acked string          // the sum that is there, "" for none
	tried map[string]bool // what may be there instead
}

func newLedger() *ledger {
	return &ledger{tried: map[string]bool{}, acked: map[uint64]string{}, late: map[uint64]string{},
		docs: map[string]*document{}, segments: map[string]*segment{}, news: make(chan struct{}, 1)}
}

// read takes in what a writer says until it ends. A last line that is not whole was being said when it was killed.
func (l *ledger) read(r io.Reader) error {
	d := json.NewDecoder(r)
	for {
		var x line
		err := d.Decode(&x)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read what a writer says: %w", err)
		}
		l.note(x)
	}
}

func (l *ledger) note(x line) {
	l.mu.Lock()
	defer l.mu.Unlock()
	late := x.Ack && l.cutAt != 0 && x.AtNS >= l.cutAt
	switch {
	case x.Doc+x.Segment != "" && late:
		return // it stays on its way
	case x.Segment != "":
		l.noteSegment(x)
	case x.Doc != "":
		l.noteDoc(x)
	case late:
		l.late[x.Index] = x.Sum
		return
	case x.Ack:
		l.acked[x.Index] = x.Sum
	default:
		l.tried[x.Sum] = true
	}
	if x.Ack {
		l.acks++
		select {
		case l.news <- struct{}{}:
		default:
		}
	}
}

func (l *ledger) noteDoc(x line) {
	d := l.docs[x.Doc]
	if d == nil {
		d = &document{tried: map[string]bool{}}
		l.docs[x.Doc] = d
	}
	if x.Ack {
		d.acked, d.tried = x.Sum, map[string]bool{}
		return
	}
	d.tried[x.Sum] = true
}

// acknowledged is how many calls were acknowledged since the last cut.
func (l *ledger) acknowledged() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.acks
}

// settle begins a new round.
func (l *ledger) settle() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acks, l.cutAt, l.late = 0, 0, map[uint64]string{}
}

// cutting notes that the power is about to be cut. A machine without power tells nobody anything: what is acknowledged
// from now on may be there or not.
func (l *ledger) cutting() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cutAt = int64(protocol.Now())
}
