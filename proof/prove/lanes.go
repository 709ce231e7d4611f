package main

import (
	"bytes"
	"context"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// mostBeside is how many stages that mostly wait run at once. One of chaos takes a third of a core.
const mostBeside = 3

// playAll runs the stages. Those that compute play beside those that lend them the processors, at the lowest priority,
// when the others have ended; without either of the two, all run in their order.
func (s *summary) playAll(ctx context.Context, stages []stage) {
	var alone, together []stage
	lend, compute := false, false
	for _, st := range stages {
		lend, compute = lend || st.lends, compute || st.computes
		if st.lends || st.computes {
			together = append(together, st)
		} else {
			alone = append(alone, st)
		}
	}
	if !lend || !compute {
		s.playInTurn(ctx, stages)
		return
	}
	s.playInTurn(ctx, alone)
	s.playTogether(ctx, together)
}

// playInTurn runs stages in their order; neighbours that mostly wait run side by side.
func (s *summary) playInTurn(ctx context.Context, stages []stage) {
	for len(stages) > 0 {
		n := neighbours(stages)
		s.playBeside(ctx, stages[:n])
		stages = stages[n:]
	}
}

// neighbours is how many of the first stages run at once.
func neighbours(stages []stage) int {
	n := 1
	for stages[0].beside && n < min(len(stages), mostBeside) && stages[n].beside {
		n++
	}
	return n
}

// playBeside runs stages at once. Each prints when it and those before it in the table have ended.
func (s *summary) playBeside(ctx context.Context, stages []stage) {
	if len(stages) == 1 {
		s.play(ctx, stages[0])
		return
	}
	p := newParts(s, stages)
	var wg sync.WaitGroup
	for i := range stages {
		wg.Go(func() { p.play(ctx, i) })
	}
	wg.Wait()
}

// playTogether runs two lanes at once, each in the order of the table: stages that lend, with neighbours side by side,
// and stages that compute, one at a time and only as far as the memory goes. Those that begin when the first lane has
// ended play as usual.
func (s *summary) playTogether(ctx context.Context, stages []stage) {
	l := &lanes{parts: newParts(s, stages), room: newRoom(s.memory)}
	var lenders, computers []int
	for i, st := range stages {
		if st.computes {
			computers = append(computers, i)
		} else {
			lenders = append(lenders, i)
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() { l.lend(ctx, lenders) })
	wg.Go(func() { l.compute(ctx, computers) })
	wg.Wait()
}

// lanes are two that run at once, and what they share.
type lanes struct {
	*parts
	room *room
	free atomic.Bool // nobody lends any more
}

// lend plays the first lane. Its stages are given by their places in the table.
func (l *lanes) lend(ctx context.Context, lenders []int) {
	defer l.free.Store(true)
	var list []stage
	for _, i := range lenders {
		list = append(list, l.stages[i])
	}
	for len(lenders) > 0 {
		n := neighbours(list)
		l.lendBeside(ctx, lenders[:n])
		lenders, list = lenders[n:], list[n:]
	}
}

// lendBeside plays neighbours, each as soon as there is room for it.
func (l *lanes) lendBeside(ctx context.Context, lenders []int) {
	var wg sync.WaitGroup
	for _, i := range lenders {
		l.room.enter(l.stages[i].memory)
		wg.Go(func() {
			defer l.room.leave(l.stages[i].memory)
			l.play(ctx, i)
		})
	}
	wg.Wait()
}

// compute plays the second lane.
func (l *lanes) compute(ctx context.Context, computers []int) {
	for _, i := range computers {
		l.room.enter(l.stages[i].memory)
		l.parts.parts[i].background = !l.free.Load()
		l.play(ctx, i)
		l.room.leave(l.stages[i].memory)
	}
}

// output keeps what a stage prints. A command's errors come from a goroutine of their own.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// parts are stages that run at once. What each of them prints comes whole, in their order.
type parts struct {
	mu      sync.Mutex
	sum     *summary
	stages  []stage
	parts   []summary
	outs    []output
	ended   []bool
	printed int // so many of the first
}

func newParts(s *summary, stages []stage) *parts {
	p := &parts{sum: s, stages: stages, parts: make([]summary, len(stages)), outs: make([]output, len(stages)),
		ended: make([]bool, len(stages))}
	for i := range stages {
		p.parts[i] = summary{w: &p.outs[i], root: s.root, began: s.began}
	}
	return p
}

// play runs one stage, and prints those of which all before them have ended.
func (p *parts) play(ctx context.Context, i int) {
	p.parts[i].play(ctx, p.stages[i])
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended[i] = true
	for s := p.sum; p.printed < len(p.stages) && p.ended[p.printed]; p.printed++ {
		part := p.parts[p.printed]
		s.printf("%s", p.outs[p.printed].String())
		s.passed, s.failed = s.passed+part.passed, s.failed+part.failed
		s.skips, s.flaky = append(s.skips, part.skips...), append(s.flaky, part.flaky...)
		s.ended, s.failures = append(s.ended, part.ended...), append(s.failures, part.failures...)
	}
}

// room is the memory of the machine, which stages that run at once share. The first may take more than there is: it
// would not run otherwise.
type room struct {
	mu      sync.Mutex
	changed *sync.Cond
	most    int // GB
	taken   int
	inside  int
}

func newRoom(most int) *room {
	r := &room{most: most}
	r.changed = sync.NewCond(&r.mu)
	return r
}

// enter waits until there is room for a stage.
func (r *room) enter(need int) {
	need = max(need, 1)
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.inside > 0 && r.taken+need > r.most {
		r.changed.Wait()
	}
	r.inside++
	r.taken += need
}

// leave gives back what enter took.
func (r *room) leave(need int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inside--
	r.taken -= max(need, 1)
	r.changed.Broadcast()
}

// memory is how many GB the machine has; 0 where it does not say, and then nothing runs beside anything.
func memory() int {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	return memoryOf(string(text))
}

// memoryOf reads /proc/meminfo.
func memoryOf(text string) int {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "MemTotal:" {
			kB, err := strconv.Atoi(f[1])
			if err != nil {
				return 0
			}
			return kB >> 20
		}
	}
	return 0
}
