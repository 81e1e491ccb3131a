#include "sidecar/wire/plan_difference.h"

#include <vector>

#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>

#include "tephra/v1/plan.pb.h"

namespace tephra {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::TextFormat;
using google::protobuf::util::MessageDifferencer;

// Keeps the first of the differences that are reported to it, in the order of the fields.
class FirstDifference final : public MessageDifferencer::Reporter {
 public:
  using Path = std::vector<MessageDifferencer::SpecificField>;

  void ReportAdded(const Message&, const Message& made, const Path& path) override {
    if (Keep(path, /*in_recorded=*/false)) found_->made = Value(made, path, false);
  }
  void ReportDeleted(const Message& recorded, const Message&, const Path& path) override {
    if (Keep(path, /*in_recorded=*/true)) found_->recorded = Value(recorded, path, true);
  }
  void ReportModified(const Message& recorded, const Message& made, const Path& path) override {
    if (!Keep(path, /*in_recorded=*/true)) return;
    found_->recorded = Value(recorded, path, true);
    found_->made = Value(made, path, false);
  }
  const std::optional<PlanDifference>& found() const { return found_; }

 private:
  static int IndexOf(const MessageDifferencer::SpecificField& step, bool in_recorded) {
    return in_recorded ? step.index : step.new_index;
  }

  // True if this is the first.
  bool Keep(const Path& path, bool in_recorded) {
    if (found_.has_value()) return false;
    found_.emplace();
    for (const auto& step : path) {
      if (!found_->field.empty()) found_->field += ".";
      found_->field += step.field != nullptr ? step.field->name() : "field of a later version";
      if (step.field == nullptr || !step.field->is_repeated()) continue;
      const int index = IndexOf(step, in_recorded);
      found_->field.append("[").append(std::to_string(index)).append("]");
      if (step.field->number() == v1::Plan::kDecisionsFieldNumber && &step == &path.front()) {
        found_->decision = index;
      }
    }
    return true;
  }

  // `parent` is the message that holds the last field of the path.
  static std::string Value(const Message& parent, const Path& path, bool in_recorded) {
    const auto& last = path.back();
    if (last.field == nullptr) return "";
    const int index = last.field->is_repeated() ? IndexOf(last, in_recorded) : -1;
    std::string text;
    TextFormat::Printer printer;
    printer.SetSingleLineMode(true);
    printer.PrintFieldValueToString(parent, last.field, index, &text);
    return text;
  }

  std::optional<PlanDifference> found_;
};

}  // namespace

std::optional<PlanDifference> ComparePlans(const std::string& recorded, const std::string& made) {
  if (recorded == made) return std::nullopt;
  const PlanDifference encoding{-1, "", "bytes", std::to_string(recorded.size()) + " bytes",
                                std::to_string(made.size()) + " bytes"};
  v1::Plan recorded_plan, made_plan;
  if (!recorded_plan.ParseFromString(recorded) || !made_plan.ParseFromString(made)) {
    return encoding;
  }
  FirstDifference reporter;
  MessageDifferencer differencer;
  differencer.ReportDifferencesTo(&reporter);
  differencer.Compare(recorded_plan, made_plan);
  if (!reporter.found().has_value()) return encoding;
  PlanDifference difference = *reporter.found();
  if (const int i = difference.decision; i >= 0) {
    difference.job = i < recorded_plan.decisions_size() ? recorded_plan.decisions(i).job()
                                                        : made_plan.decisions(i).job();
  }
  return difference;
}

}  // namespace tephra
