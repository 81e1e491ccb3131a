package grouping

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

func TestAPodIsAssignedToTheGroupOfItsOwner(t *testing.T) {
	const ofJob = "{apiVersion: batch/v1, kind: Job, name: j, uid: u-job, controller: true}"
	const ofSet = "{apiVersion: apps/v1, kind: StatefulSet, name: s, uid: u-set, controller: true}"
	for _, test := range []struct{ name, metadata, group, role string }{
		{"of a JobSet", "{labels: {jobset.sigs.k8s.io/jobset-uid: u-jobset, jobset.sigs.k8s.io/replicatedjob-name: workers}, annotations: {batch.kubernetes.io/job-completion-index: '0'}, ownerReferences: [" + ofJob + "]}", "podgroup-u-jobset", "workers"},
		{"of a JobSet, with a role of its own", "{labels: {jobset.sigs.k8s.io/jobset-uid: u-jobset, jobset.sigs.k8s.io/replicatedjob-name: workers, volcano.sh/task-spec: mine}, ownerReferences: [" + ofJob + "]}", "podgroup-u-jobset", ""},
		{"of an Indexed Job", "{annotations: {batch.kubernetes.io/job-completion-index: '3'}, ownerReferences: [" + ofJob + "]}", "podgroup-u-job", ""},
		{"of another Job", "{ownerReferences: [" + ofJob + "]}", "", ""},
		{"of another Job, with a minimum", "{annotations: {scheduling.volcano.sh/group-min-member: '4'}, ownerReferences: [" + ofJob + "]}", "podgroup-u-job", ""},
		{"of a StatefulSet", "{ownerReferences: [" + ofSet + "]}", "", ""},
		{"of a StatefulSet, with a minimum", "{annotations: {scheduling.volcano.sh/group-min-member: '4'}, ownerReferences: [" + ofSet + "]}", "podgroup-u-set", ""},
		{"with a group", "{annotations: {scheduling.k8s.io/group-name: g, scheduling.volcano.sh/group-min-member: '4'}, ownerReferences: [" + ofSet + "]}", "", ""},
		{"of nothing", "{annotations: {scheduling.volcano.sh/group-min-member: '4'}}", "", ""},
	} {
		pod := podOf(t, test.metadata)
		if changed := Assign(pod); changed != (test.group != "") {
			t.Errorf("%s: changed %t", test.name, changed)
		}
		if group := pod.Annotations[GroupKey]; test.group != "" && group != test.group {
			t.Errorf("%s: group %q, expected %q", test.name, group, test.group)
		}
		if role := pod.Annotations[RoleKey]; role != test.role {
			t.Errorf("%s: role %q, expected %q", test.name, role, test.role)
		}
	}
}

func podOf(t *testing.T, metadata string) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{}
	if err := yaml.UnmarshalStrict([]byte("{metadata: "+metadata+"}"), pod); err != nil {
		t.Fatal(err)
	}
	return pod
}

func objectOf(t *testing.T, text string) map[string]any {
	t.Helper()
	object := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return whole(object).(map[string]any)
}

// whole turns the numbers of JSON into integers, as the API machinery reads them.
func whole(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key := range value {
			value[key] = whole(value[key])
		}
	case []any:
		for i := range value {
			value[i] = whole(value[i])
		}
	case float64:
		return int64(value)
	}
	return value
}

func TestTheGangOfAJobIsItsPodsThatRunAtTheSameTime(t *testing.T) {
	for spec, want := range map[string]int32{
		"{parallelism: 4, completions: 4}":          4,
		"{parallelism: 4}":                          4,
		"{parallelism: 8, completions: 4}":          4,
		"{parallelism: 4, completions: 9}":          1, // tasks of an array
		"{}":                                        1,
		"{completions: 1}":                          1,
		"{parallelism: 4000000000, completions: 2}": 2,
		"{parallelism: -1}":                         0,
	} {
		if size := sizeOfJob(objectOf(t, "{spec: "+spec+"}")); size.Min != want || size.Roles != nil {
			t.Errorf("%s: %+v, expected %d", spec, size, want)
		}
	}
}

func TestTheGangOfAJobSetIsWhatStartsAtOnce(t *testing.T) {
	const driver, workers = "{name: driver, template: {spec: {}}}", "{name: workers, replicas: 2, template: {spec: {parallelism: 4, completions: 4}}}"
	const after = "{name: workers, replicas: 2, dependsOn: [{name: driver, status: Ready}], template: {spec: {parallelism: 4, completions: 4}}}"
	for spec, want := range map[string]Size{
		"{replicatedJobs: [" + driver + ", " + workers + "]}":                                                                 {9, map[string]int32{"driver": 1, "workers": 8}},
		"{startupPolicy: {startupPolicyOrder: AnyOrder}, replicatedJobs: [" + workers + "]}":                                  {8, map[string]int32{"workers": 8}},
		"{startupPolicy: {startupPolicyOrder: InOrder}, replicatedJobs: [" + driver + ", " + workers + "]}":                   {1, map[string]int32{"driver": 1}},
		"{replicatedJobs: [" + driver + ", " + after + "]}":                                                                   {1, map[string]int32{"driver": 1}},
		"{replicatedJobs: [{name: none, replicas: 0, template: {spec: {}}}]}":                                                 {1, map[string]int32{}},
		"{replicatedJobs: [{name: vast, replicas: 4000000, template: {spec: {parallelism: 4000000, completions: 4000000}}}]}": {mostPods, map[string]int32{"vast": mostPods}},
	} {
		if size := sizeOfJobSet(objectOf(t, "{spec: "+spec+"}")); size.Min != want.Min || !maps.Equal(size.Roles, want.Roles) {
			t.Errorf("%s: %+v, expected %+v", spec, size, want)
		}
	}
}

func TestAStatedMinimumIsAWholeNumber(t *testing.T) {
	for text, want := range map[string]int32{"4": 4, "1": 1, "1048576": mostPods, "0": 0, "-2": 0, "many": 0, "": 0, "1048577": 0} {
		least, given, err := stated(map[string]string{MinMemberKey: text})
		if least != want || given != (want > 0) || (err == nil) != (want > 0) {
			t.Errorf("%q: %d, %t, %v", text, least, given, err)
		}
	}
	if _, given, err := stated(nil); given || err != nil {
		t.Errorf("none: %t, %v", given, err)
	}
}
