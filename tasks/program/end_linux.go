package program

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// EndAll ends all programs of a place, and returns when none of their processes is left.
func EndAll(ctx context.Context, p Place) error {
	if p.Mark == "" {
		return nil
	}
	var err error
	if p.Group != "" {
		if !strings.HasPrefix(filepath.Base(p.Group), groupPrefix) {
			return fmt.Errorf("%s is no control group of programs", p.Group)
		}
		err = endGroup(ctx, p.Group)
	}
	return errors.Join(err, endMarked(ctx, p.Mark))
}
