package chaos

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// tendEvery is how often the operator looks, and how long one command may take.
const (
	tendEvery  = time.Second
	tendWithin = 5 * time.Second
)

// tend does what an operator does who sees in `rota status` that a task runs whose file no copy has: the members that had the file went with it, and members
// by themselves do not end such a task (docs/guide/task-files.md). The command ends nothing else. Where it fails, it is tried again.
func (c *Cluster) tend(ctx context.Context) {
	if time.Since(c.tended) < tendEvery || c.tasks.surplus(c.follower.now()) == "" {
		return
	}
	c.tended = time.Now()
	ctx, cancel := context.WithTimeout(ctx, tendWithin)
	defer cancel()
	out, err := exec.CommandContext(ctx, c.options.Binary, "source", "prune", filepath.Base(c.taskDir()), "--store", c.storeText()).CombinedOutput() //nolint:gosec // the binary under test
	if err == nil {
		c.say("operator  %s", strings.TrimSpace(string(out)))
	}
}
