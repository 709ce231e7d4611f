package chaos

import (
	"errors"
	"fmt"
	"os"

	"github.com/rota-run/rota/proof/sim/history"
)

// readActs reads what all witness tasks did, in the order in which they did it, through a fence that refuses smaller tokens.
func readActs(path string) ([]history.Record, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the acts: %w", err)
	}
	acts, _, err := history.ReadLines(data, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return history.Fence(acts), nil
}
