// want: imports log/slog
// as: flow/x.go

package flow

import _ "log/slog"
