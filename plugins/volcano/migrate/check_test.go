package migrate

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tephra.sh/volcano/requests"
)

// wanted are the findings that the comments of the file expect in the mode, in any order: "status Kind [namespace/]name | part
// of what or do".
func wanted(t *testing.T, file string, mode Mode) (out []string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	in := false
	for _, line := range strings.Split(string(text), "\n") {
		line, comment := strings.CutPrefix(line, "#")
		switch line = strings.TrimSpace(line); {
		case !comment:
			return out
		case strings.HasSuffix(line, ":"):
			in = line == string(mode)+":"
		case in:
			out = append(out, line)
		}
	}
	return out
}

func TestEachFindingOfAClusterIsExpectedAndEachExpectedIsFound(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) < 4 {
		t.Fatalf("testdata: %d files, %v", len(files), err)
	}
	for _, file := range files {
		for _, mode := range []Mode{Beside, Replace} {
			t.Run(filepath.Base(file)+"/"+string(mode), func(t *testing.T) {
				cluster := &Cluster{}
				if err := cluster.AddFiles([]string{file}); err != nil {
					t.Fatal(err)
				}
				report, err := Check(cluster, mode, requests.Default())
				if err != nil {
					t.Fatal(err)
				}
				want := wanted(t, file, mode)
				for _, f := range report.Findings {
					name := strings.TrimPrefix(f.Namespace+"/"+f.Name, "/")
					at := slices.IndexFunc(want, func(line string) bool {
						head, part, _ := strings.Cut(line, " | ")
						return head == fmt.Sprintf("%s %s %s", f.Status, f.Kind, name) && strings.Contains(f.What+" / "+f.Do, part)
					})
					if at < 0 {
						t.Errorf("found, not expected: %s %s %s | %s / %s", f.Status, f.Kind, name, f.What, f.Do)
						continue
					}
					want = slices.Delete(want, at, at+1)
				}
				for _, line := range want {
					t.Errorf("expected, not found: %s", line)
				}
			})
		}
	}
}

func TestAnObjectThatCannotBeReadEndsTheCheckAndIsNamed(t *testing.T) {
	for text, want := range map[string]string{
		"{kind: Pod, metadata: {name: x}}": `object "x": no apiVersion or kind`,
		"{apiVersion: v1, kind: Pod, metadata: {name: x, namespace: ns}, spec: {nodeName: [1]}}": "Pod ns/x: ",
		"{apiVersion: v1, kind: Pod": "invalid character",
		"{apiVersion: scheduling.run.ai/v2alpha2, kind: PodGroup, metadata: {name: g, namespace: ns}, spec: {minMember: many}}": "PodGroup ns/g: ",
	} {
		cluster := &Cluster{}
		err := cluster.parse(strings.NewReader(text))
		if err == nil {
			_, err = Check(cluster, Beside, requests.Default())
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, expected %s", text, err, want)
		}
	}
}

func TestRegistersThatCannotBeReadBlockTheirNode(t *testing.T) {
	for register, want := range map[string]string{
		"[{]": "invalid character", "GPU-1,10:": "expected UUID,count,memory", "GPU-1,x,1,100,T4,0,true:": "count:",
		"GPU-1,1,x,100,T4,0,true:": "memory:", strings.Repeat("x", 300<<10): "expected at most",
	} {
		if _, wrong := parseHAMi(register); !strings.Contains(wrong, want) {
			t.Errorf("%.40s: %q, expected %s", register, wrong, want)
		}
	}
}
