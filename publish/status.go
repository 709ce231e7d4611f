package publish

// Status is how one sink is doing.
type Status struct {
	Name string `json:"name"` // where the samples go, without secrets
	Stats
	LagMS         int64  `json:"lag_ms"`               // how long ago the oldest sample that waits was queued
	LastError     string `json:"last_error,omitempty"` // of the last attempt that failed; no secrets
	LastErrorAtMS int64  `json:"last_error_at_ms,omitempty"`
}

// Sinks returns the status of each sink that p sends to. A publisher that does not report any by a method Sinks is one sink without a name.
func Sinks(p Publisher) []Status {
	if s, ok := p.(interface{ Sinks() []Status }); ok {
		return s.Sinks()
	}
	return []Status{{Stats: p.Stats()}}
}

type named struct {
	Publisher
	name string
}

// Named gives a publisher a name for its status, if it has none.
func Named(name string, p Publisher) Publisher {
	if _, ok := p.(interface{ Sinks() []Status }); ok {
		return p
	}
	return named{p, name}
}

func (n named) Sinks() []Status { return []Status{{Name: n.name, Stats: n.Stats()}} }
