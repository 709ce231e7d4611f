// Package kernel translates for a simulated member the effects and events that all protocols share, those of package internal/protocol/member.
//
// # Purpose
//
// Each protocol's machine says what its own effects mean to the world. What the shared ones mean is said here, once.
//
// # What is not guaranteed
//
// An effect that only one protocol has is not known here.
package kernel
