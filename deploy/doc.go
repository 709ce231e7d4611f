// Package deploy tests what people install: the build, the image, the units of systemd, the Helm chart, the dashboard
// and the alerts.
//
// # Purpose
//
// The folder has those files, and this module has tests alone. It is a module of its own because the libraries of Helm,
// Kubernetes and Prometheus are for these tests and nothing else.
package deploy
