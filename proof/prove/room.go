package main

import (
	"os"
	"strconv"
	"strings"
	"sync"
)

// room is the memory of the machine, which stages that run at once share. The first may take more than there is: it would not run otherwise.
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
