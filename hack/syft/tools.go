//go:build tools

// Package syft names the version of syft that hack/syft.sh builds.
package syft

import _ "github.com/anchore/syft/cmd/syft"
