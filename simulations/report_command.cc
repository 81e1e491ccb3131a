#include "simulations/report_command.h"

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "simulations/output_file.h"
#include "simulations/report/page.h"
#include "text/format.h"

namespace tephra {
namespace {

absl::Status WriteReport(const std::vector<std::string>& folders, const std::string& out) {
  std::vector<RunFiles> runs;
  std::size_t jobs = 0;
  for (const std::string& folder : folders) {
    TEPHRA_ASSIGN_OR_RETURN(RunFiles run, ReadRunFiles(folder));
    jobs += run.jobs.size();
    runs.push_back(std::move(run));
  }
  const std::string page = PageHtml(PageData(runs));
  TEPHRA_ASSIGN_OR_RETURN(const std::unique_ptr<OutputFile> file, OutputFile::Create(out));
  file->Write(page);
  TEPHRA_RETURN_IF_ERROR(file->Commit());
  std::cout << out << ": " << jobs << " jobs, " << Fixed(static_cast<double>(page.size()) / 1e6, 1)
            << " MB\n";
  return absl::OkStatus();
}

}  // namespace

void AddReportCommand(CLI::App& app, int& code) {
  struct Arguments {
    std::vector<std::string> folders;
    std::string out = "report.html";
  };
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "report", "Write the results of one simulation, or of two side by side, as an HTML page.");
  command
      ->add_option("DIR", arguments->folders,
                   "one or two folders written by tephra simulate --out (docs/reference/report.md)")
      ->required()
      ->expected(1, 2);
  command->add_option("--out", arguments->out, "the HTML page to write; it needs no other files")
      ->capture_default_str();
  command->footer(
      "Exit codes: 0 success; 2 bad usage, a folder cannot be read, or the page cannot be "
      "written.");
  command->callback([arguments, &code] {
    const absl::Status status = WriteReport(arguments->folders, arguments->out);
    if (status.ok()) return;
    std::cerr << "tephra report: " << status.message() << "\n";
    code = 2;
  });
}

}  // namespace tephra
