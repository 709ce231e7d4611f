// Package calls tests calls of functions with members in processes of their own, which are killed and suspended.
package calls
