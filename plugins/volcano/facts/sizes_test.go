package facts

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
)

// asking is a pod that asks for one of each resource.
func asking(resources ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		for _, name := range resources {
			p.Spec.Containers[0].Resources.Requests[corev1.ResourceName(name)] = list("n", "1")["n"]
		}
	}
}

func TestResourcesThatNoNodeHasTakeFewNumbers(t *testing.T) {
	feed := idleFeed(t, Options{Admit: true})
	node := someNode("n")
	node.Status.Allocatable["rdma/hca"] = list("n", "8")["n"]
	feed.setNode(node)
	var names []string
	for i := range 20 {
		names = append(names, fmt.Sprintf("mallory.io/r%02d", i))
	}
	feed.setGroup(someGroup("greedy", 1))
	feed.setPod(somePod("greedy", "greedy", asking(names...)))
	for i := range 20 {
		group := fmt.Sprintf("typo-%02d", i)
		feed.setGroup(someGroup(group, 1))
		feed.setPod(somePod(group, group, asking(fmt.Sprintf("mallory.io/s%02d", i))))
	}
	feed.setGroup(someGroup("train", 1))
	feed.setPod(somePod("train", "train", asking("rdma/hca")))
	problems := problemsOf(feed)
	model := wholeModel(t, feed)
	if !strings.Contains(strings.Join(model.kinds, ","), "rdma/hca") || len(model.kinds) > mostAbsent+1 {
		t.Errorf("kinds %v, expected rdma/hca and at most %d more", model.kinds, mostAbsent)
	}
	if model.jobs["group-train"] == nil || model.jobs["group-greedy"] != nil {
		t.Errorf("jobs %v", model.jobs)
	}
	const want = `Pod "team/greedy": spec.containers[0].resources.requests.mallory.io/r04: 1, expected a resource that some node has; ` +
		"no node has it, and 4 other such resources are requested already"
	if !strings.Contains(problems, want) {
		t.Errorf("problems:\n%s\nexpected %s", problems, want)
	}

	// The resource arrives with a node.
	late := someNode("late")
	late.Status.Allocatable["mallory.io/s07"] = list("n", "1")["n"]
	feed.setNode(late)
	if problems := problemsOf(feed); strings.Contains(problems, "typo-07") || wholeModel(t, feed).jobs["group-typo-07"] == nil {
		t.Errorf("a node has the resource now: %s", problems)
	}
}

func withPorts(count int) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		for i := range count {
			p.Spec.Containers[0].Ports = append(p.Spec.Containers[0].Ports, corev1.ContainerPort{HostPort: int32(1000 + i)})
		}
	}
}

func withTerms(count int, key func(int) string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{}}
		for i := range count {
			p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution = append(
				p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution,
				corev1.PodAffinityTerm{TopologyKey: key(i), LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": fmt.Sprint(i)}}})
		}
	}
}

func hostname(int) string { return corev1.LabelHostname }

func noted(key string, parts int) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Annotations[key] = strings.Repeat("a,", parts-1) + "a" }
}

func withClaims(count int) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		for i := range count {
			pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: fmt.Sprint("c", i), VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: fmt.Sprint("c", i)}}})
		}
	}
}

// withDisks is one RBD image with that many monitors.
func withDisks(count int) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		image := &corev1.RBDVolumeSource{RBDPool: "pool", RBDImage: "image"}
		for i := range count {
			image.CephMonitors = append(image.CephMonitors, fmt.Sprint("m", i))
		}
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "disk", VolumeSource: corev1.VolumeSource{RBD: image}})
	}
}

func TestWhatOnePodSaysIsBounded(t *testing.T) {
	for _, test := range []struct {
		most   int
		change func(int) func(*corev1.Pod)
		want   string
	}{
		{mostHostPorts, withPorts, "spec.containers.ports: 65 host ports, expected at most 64 in a pod"},
		{mostAntiAffinities, func(n int) func(*corev1.Pod) { return withTerms(n, hostname) },
			"spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution: 65 terms, expected at most 64"},
		{mostVolumes, withClaims, "spec.volumes: 257 volumes of claims, CSI drivers and disks, expected at most 256 in a pod"},
		{mostDisks, withDisks, "spec.volumes: more than 64 disks, each RBD image counted once for each monitor, expected at most 64 in a pod"},
		{mostModelWishes, func(n int) func(*corev1.Pod) { return noted(useModels, n) }, "metadata.annotations[nvidia.com/use-gputype]: 65 parts, expected at most 64"},
		{mostModelWishes, func(n int) func(*corev1.Pod) { return noted(avoidModels, n) }, "metadata.annotations[nvidia.com/nouse-gputype]: 65 parts, expected at most 64"},
		{mostDeviceWishes, func(n int) func(*corev1.Pod) { return noted(useDevices[0], n) }, "metadata.annotations[nvidia.com/use-gpuuuid]: 1025 parts, expected at most 1024"},
	} {
		for _, more := range []int{0, 1} {
			feed := idleFeed(t, Options{Admit: true})
			feed.setNode(someNode("n"))
			feed.setGroup(someGroup("g", 1))
			feed.setPod(somePod("p", "g", test.change(test.most+more)))
			feed.setGroup(someGroup("other", 1))
			feed.setPod(somePod("other", "other"))
			got, want := problemsOf(feed), ""
			if more > 0 {
				want = `Pod "team/p": ` + test.want
			}
			if got != want {
				t.Errorf("got %q, expected %q", got, want)
			}
			if model := wholeModel(t, feed); (model.jobs["group-g"] != nil) != (more == 0) || model.jobs["group-other"] == nil {
				t.Errorf("%s: jobs %v", test.want, model.jobs)
			}
		}
	}
}

// What a foreign pod says is not refused, but it costs no more.
func TestWhatAForeignPodSaysIsCut(t *testing.T) {
	feed := idleFeed(t, Options{})
	feed.setNode(someNode("n"))
	feed.setPod(somePod("foreign", "", on("n"), withPorts(5000), withTerms(5000, hostname), withClaims(5000), withDisks(5000), func(p *corev1.Pod) { p.Spec.SchedulerName = "other" }))
	if got := len(feed.translator.apart.terms); got != mostAntiAffinities {
		t.Errorf("%d terms, expected %d", got, mostAntiAffinities)
	}
	for _, task := range wholeModel(t, feed).tasks {
		if got := len(task.Pod.GetLimits()); got > mostHostPorts+mostAntiAffinities+mostDisks+1 {
			t.Errorf("%d limits, expected at most %d", got, mostHostPorts+mostAntiAffinities+mostDisks+1)
		}
	}
}

func TestTopologyKeysOfUsersAreBounded(t *testing.T) {
	feed := idleFeed(t, Options{Admit: true})
	feed.setNode(someNode("n"))
	keys := map[string]bool{}
	note := func(pod *corev1.Pod) (masked bool) {
		shape, wrong := feed.translator.shapeOf(pod, nil)
		if wrong != nil {
			t.Fatal(wrong)
		}
		for _, limit := range shape.pod.Limits {
			keys[limit.TopologyKey] = true
		}
		return shape.mask != ""
	}
	self := func(name, key string) *corev1.Pod {
		return somePod(name, "g", labelled("0"), withTerms(1, func(int) string { return key }))
	}
	for i := range 200 {
		pod := self(fmt.Sprintf("p-%d", i), fmt.Sprintf("mallory.io/k%d", i))
		feed.setPod(pod)
		if masked := note(pod); !masked && i >= mostTopologyKeys {
			t.Errorf("key %d: no mask", i)
		}
	}
	note(self("zone", corev1.LabelTopologyZone))
	if !keys[corev1.LabelTopologyZone] || len(keys) > mostTopologyKeys+2 {
		t.Errorf("the engine hears of %d keys, expected at most %d and well-known keys", len(keys), mostTopologyKeys)
	}
}

func TestAntiAffinitiesOfOneNamespaceCostNoOtherNamespace(t *testing.T) {
	feed := idleFeed(t, Options{})
	for i := range 500 {
		pod := somePod(fmt.Sprintf("p-%d", i), "g", labelled(fmt.Sprint(i)), withTerms(10, hostname))
		pod.Namespace = "mallory"
		feed.setPod(pod)
	}
	for namespace, most := range map[string]int{"team": 0, "mallory": 10} {
		terms, kins := 0, 0
		feed.translator.apart.eachTerm(namespace, func(*livingTerm) { terms++ })
		feed.translator.apart.eachKin(&antiTerm{namespaces: []string{namespace}}, func(*kin) { kins++ })
		if terms != most || (kins == 0) != (most == 0) {
			t.Errorf("a pod of %s is compared with %d terms, a term with %d kinds of pods; expected %d terms", namespace, terms, kins, most)
		}
	}
}

func TestVolumesOfAllTasksAreBoundedTogether(t *testing.T) {
	for _, test := range []struct {
		tasks, volumes int
		want           string
	}{
		{256, 256, ""},
		{4000, 4000, `Job "team/train": spec.volumes: 4000 volumes in each of 4000 tasks, expected at most 65536 volumes in all tasks together`},
	} {
		feed := idleFeed(t, Options{Admit: true})
		var tasks []batchv1alpha1.TaskSpec
		for i := range test.tasks {
			tasks = append(tasks, taskSpec(fmt.Sprintf("t-%d", i), 1, container("main")))
		}
		job := someJob("train", tasks...)
		for i := range test.volumes {
			job.Spec.Volumes = append(job.Spec.Volumes, batchv1alpha1.VolumeSpec{VolumeClaimName: fmt.Sprint(i), MountPath: "/data"})
		}
		feed.setJob(job)
		feed.setGroup(someGroup("g", 1, ownedBy(job)))
		if got := problemsOf(feed); got != test.want {
			t.Errorf("got %q, expected %q", got, test.want)
		}
	}
}

func TestDisruptionBudgetsOfANamespaceAreBounded(t *testing.T) {
	feed := idleFeed(t, Options{})
	budget := func(namespace string, number int) *policyv1.PodDisruptionBudget {
		return &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("b-%04d", number)},
			Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{}}}
	}
	for i := range 1000 {
		feed.setDisruptionBudget(budget("mallory", i))
	}
	feed.setDisruptionBudget(budget("team", 0))
	for namespace, want := range map[string]int{"mallory": mostBudgets, "team": 1} {
		pod := somePod("p", "g")
		pod.Namespace = namespace
		if got := len(feed.budgetsOf(pod)); got != want {
			t.Errorf("a pod of %s draws on %d budgets, expected %d", namespace, got, want)
		}
	}
	problems := problemsOf(feed)
	const want = `PodDisruptionBudget "mallory/b-0999": metadata.namespace: "mallory", expected at most 256 PodDisruptionBudgets in a namespace; evictions do not count this one`
	if !strings.Contains(problems, want) || strings.Count(problems, "\n") != 1000-mostBudgets-1 {
		t.Errorf("problems:\n%.500s", problems)
	}
	feed.dropDisruptionBudget(budget("mallory", 0))
	feed.setDisruptionBudget(budget("mallory", 999)) // as its controller writes its status
	if strings.Contains(problemsOf(feed), "b-0999") {
		t.Error("b-0999 has the place of the budget that is gone")
	}
}

func TestTermsOfANamespaceAreBounded(t *testing.T) {
	feed := idleFeed(t, Options{Admit: true})
	var pods []*corev1.Pod
	for i := range 100 {
		pod := somePod(fmt.Sprintf("p-%d", i), "g", labelled("0"), func(p *corev1.Pod) { p.Labels["x"] = fmt.Sprint(i) },
			withTerms(mostAntiAffinities, hostname), func(p *corev1.Pod) {
				for j := range p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
					term := &p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[j]
					term.LabelSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
						{Key: fmt.Sprintf("not-%d-%d", i, j), Operator: metav1.LabelSelectorOpDoesNotExist}}}
				}
			})
		pod.Namespace = "mallory"
		pods = append(pods, pod)
		feed.setPod(pod)
	}
	a := &feed.translator.apart
	if len(a.terms) != mostHomeTerms || a.homes["mallory"] != mostHomeTerms {
		t.Errorf("%d terms, expected %d", len(a.terms), mostHomeTerms)
	}
	for _, pod := range pods {
		if limits := limitsOf(t, feed, pod); !strings.HasSuffix(limits, "mask") {
			t.Errorf("%s: %s, expected a mask", pod.Name, limits)
		}
	}
	other := somePod("other", "g", labelled("web"), away("web"))
	feed.setPod(other)
	if limits := limitsOf(t, feed, other); strings.Contains(limits, "mask") || len(a.terms) != mostHomeTerms+1 {
		t.Errorf("another namespace: %q, %d terms", limits, len(a.terms))
	}
	for _, pod := range append(pods, other) {
		feed.dropPod(pod)
	}
	if len(a.terms)+len(a.homes)+len(a.kins)+len(a.termsOf)+len(a.kinsOf) != 0 {
		t.Errorf("left: %d terms, %v, %d kinds of pods", len(a.terms), a.homes, len(a.kins))
	}
}
