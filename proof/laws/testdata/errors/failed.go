// want: begins with "failed to"
// as: api/x.go

package api

import "fmt"

var err = fmt.Errorf("failed to open the door: %w", nil)
