package powercut

import (
	"fmt"
	"os/exec"
	"strings"
)

// command runs a program; its error is what it said.
func command(args ...string) error {
	out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	if err == nil {
		return nil
	}
	if text := strings.Join(strings.Fields(string(out)), " "); text != "" {
		return fmt.Errorf("%s: %s", args[0], text)
	}
	return fmt.Errorf("%s: %w", args[0], err)
}
