package facts

import (
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"tephra.sh/volcano/annotations"
	"tephra.sh/volcano/tephrav1"
)

// ReservedRoomAnnotation writes the room that the engine reserved for a gang's tasks as the value of the
// annotation tephra.sh/reserved-room.
func ReservedRoomAnnotation(placements []*tephrav1.Placement) (string, error) {
	tasks := make([]annotations.ReservedTask, 0, len(placements))
	for _, placement := range placements {
		task := annotations.ReservedTask{Role: placement.Role, Index: placement.Index, Node: placement.Node}
		for _, slice := range placement.Slices {
			task.Slices = addSlice(task.Slices, slice)
		}
		tasks = append(tasks, task)
	}
	return annotations.FormatReservedRoom(tasks)
}

// addSlice puts the device to the one before where they differ in nothing else: gangs are large.
func addSlice(to []annotations.ReservedSlice, slice *tephrav1.Slice) []annotations.ReservedSlice {
	mode := annotationMode(slice.Mode)
	var instance *annotations.ReservedInstance
	if mode == annotations.MIG {
		instance = &annotations.ReservedInstance{Profile: int(slice.MigProfile), Start: int(slice.MigStart)}
	}
	if last := len(to) - 1; last >= 0 {
		before := &to[last]
		if before.Container == int(slice.Container) && before.Mode == mode && before.Compute == slice.Compute &&
			before.MemoryMiB == slice.MemoryMib && (before.Instance == instance || instance != nil && before.Instance != nil && *before.Instance == *instance) {
			before.Devices = append(before.Devices, int(slice.Device))
			return to
		}
	}
	return append(to, annotations.ReservedSlice{Container: int(slice.Container), Devices: []int{int(slice.Device)},
		Mode: mode, Compute: slice.Compute, MemoryMiB: slice.MemoryMib, Instance: instance})
}

// reservedRoom is what an earlier engine reserved for the group. The engine checks whether
// the room is still of use.
func reservedRoom(obj *schedulingv1beta1.PodGroup) ([]*tephrav1.RecordedReservation, *fault) {
	text, given := obj.Annotations[annotations.ReservedRoomKey]
	if !given {
		return nil, nil
	}
	tasks, err := annotations.ParseReservedRoom(text)
	if err != nil {
		return nil, annotationFault(err)
	}
	var out []*tephrav1.RecordedReservation
	for _, task := range tasks {
		room := &tephrav1.RecordedReservation{Role: task.Role, Index: task.Index, Node: task.Node}
		for _, slice := range task.Slices {
			for _, device := range slice.Devices {
				wire := &tephrav1.Slice{Container: uint32(slice.Container), Device: uint32(device),
					Mode: sliceMode(slice.Mode), Compute: slice.Compute, MemoryMib: slice.MemoryMiB}
				if at := slice.Instance; at != nil {
					wire.MigProfile, wire.MigStart = uint32(at.Profile), uint32(at.Start)
				}
				room.Slices = append(room.Slices, wire)
			}
		}
		out = append(out, room)
	}
	return out, nil
}

// SpentReservations are the jobs, by uid, whose group still has reserved room although it has
// what it needs to run, or asks for nothing any more. They are as new as the last Sync or Drain.
func (f *Feed) SpentReservations() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for _, uid := range sortedKeys(f.holding) {
		if g := f.holding[uid]; g.fact == nil || g.satisfied() {
			out = append(out, uid)
		}
	}
	return out
}

// satisfied: as many pods as the group needs run, or have done so.
func (g *group) satisfied() bool {
	var sum int32
	roles := map[string]int32{}
	for _, p := range g.pods {
		if p.obj.Spec.NodeName != "" && p.obj.DeletionTimestamp == nil && taskPhase(p.obj) != tephrav1.TaskPhase_TASK_PHASE_FAILED {
			sum++
			roles[p.role()]++
		}
	}
	for role, least := range minTask(g.obj) {
		if roles[role] < least {
			return false
		}
	}
	return sum >= g.obj.Spec.MinMember
}
