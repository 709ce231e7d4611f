// Package publish takes samples to where people look at them.
package publish
