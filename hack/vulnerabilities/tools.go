//go:build tools

// Package vulnerabilities names the versions of govulncheck and of Go's vulnerability database that
// hack/vulnerabilities.sh uses.
package vulnerabilities

import (
	_ "golang.org/x/vuln/cmd/govulncheck"
	_ "golang.org/x/vulndb/cmd/gendb"
)
