package journal

import (
	"context"
	"sync"
)

// Memory is a journal in the process, with a bounded number of the newest records.
type Memory struct {
	mu      sync.Mutex
	records []Record
	most    int
}

var _ Journal = (*Memory)(nil)

// NewMemory returns a journal of at most that many records, the newest; 0 means 1000.
func NewMemory(most int) *Memory {
	if most <= 0 {
		most = usualLimit
	}
	return &Memory{most: most}
}

// Append implements Journal.
func (m *Memory) Append(ctx context.Context, records ...Record) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.records = append(m.records, records...)
	if len(m.records) > 2*m.most { // now and then, so that an append costs the same however many there are
		m.records = append([]Record(nil), m.newest()...)
	}
	return nil
}

func (m *Memory) newest() []Record { return m.records[max(0, len(m.records)-m.most):] }

// Read implements Journal.
func (m *Memory) Read(ctx context.Context, q Query) ([]Record, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return q.answer(m.newest()), nil
}
