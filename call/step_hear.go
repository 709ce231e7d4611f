package call

// hearing is the set of waiters for the end of a call. It is a value.
type hearing struct {
	ended  bool
	failed bool // there is an error that listeners are told
}

// settle ends it, once. tell: all who listen are to be called.
func (h hearing) settle(failed bool) (next hearing, first, tell bool) {
	if h.ended {
		return h, false, false
	}
	return hearing{ended: true, failed: failed}, true, failed
}

// listen decides when a waiter is called: at once, later, or never.
func (h hearing) listen() (now, later bool) { return h.ended && h.failed, !h.ended }
