package call

import "context"

// lend gives the slot of the run that ctx belongs to, if any, to other calls until the function that it returns is called. A function that waits for
// another call does not work meanwhile; where it kept its slot, functions that wait for functions would wait for ever once they have all slots. The slot
// is taken back at once, so for a moment more functions than slots may work.
func lend(ctx context.Context) (back func()) {
	r, ok := ctx.Value(runKey{}).(*run)
	if !ok {
		return func() {}
	}
	r.lend(1)
	return func() { r.lend(-1) }
}

type runKey struct{}

// lend counts the goroutines of the run that wait for other calls. The first gives the slot away, the last takes it back, unless the run is over.
func (r *run) lend(n int) {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	before := r.lent
	r.lent += n
	switch {
	case r.over.Load():
	case before == 0 && n > 0:
		r.w.busy--
		r.w.stir()
	case r.lent == 0:
		r.w.busy++
	}
}
