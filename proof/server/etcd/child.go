package etcd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// nodeVariable tells a process that it is a member, and which.
const nodeVariable = "ROTA_ETCD_NODE"

// readyLine is what a member's process prints when it serves. A member that waits for others prints it as soon as they are there.
const readyLine = "ready"

// Child runs a member of a [Cluster], if this process was started to be one, until its parent ends; then it returns true, and the program
// should end. Otherwise it returns false at once.
func Child() bool {
	text := os.Getenv(nodeVariable)
	if text == "" {
		return false
	}
	if err := serve(text, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return true
}

// serve runs a member until stdin ends.
func serve(text string, stdin io.Reader, stdout io.Writer) error {
	var n node
	if err := json.Unmarshal([]byte(text), &n); err != nil {
		return fmt.Errorf("read %s: %w", nodeVariable, err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() {
		_, err := io.Copy(io.Discard, stdin)
		cancel(errors.Join(errParentGone, err))
	}()
	e, err := n.launch()
	if err != nil {
		return err
	}
	defer e.Close()
	if err := await(ctx, e); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(stdout, readyLine); err != nil {
		return fmt.Errorf("tell that the member serves: %w", err)
	}
	select {
	case err := <-e.Err():
		return fmt.Errorf("serve etcd member %s: %w", n.Name, err)
	case <-ctx.Done():
		return nil
	}
}

var errParentGone = errors.New("the process that started this member has ended")
