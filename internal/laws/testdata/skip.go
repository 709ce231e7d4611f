// want: without a reason

package api

import "testing"

func f(t *testing.T) { t.Skip() }
