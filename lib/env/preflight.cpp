#include "env/preflight.hpp"

#include <utility>

#include "env/text_file.hpp"

namespace millrace::env {
namespace {

// The word that chose the lcores, for messages: "-l 0,7".
std::string lcores_word(const eal_vector& args) {
  for (const std::string_view name : {"--lcores", "-c", "-l"})
    if (const auto value = args.value(name)) return std::string(name) + ' ' + std::string(*value);
  return {};
}

cpu_list without(const cpu_list& all, const cpu_list& some) {
  cpu_list rest;
  for (const unsigned cpu : all)
    if (!contains(some, cpu)) rest.push_back(cpu);
  return rest;
}

std::string plural(const cpu_list& cpus, const char* one) {
  return std::string(one) + (cpus.size() > 1 ? "s " : " ") + format_cpu_list(cpus);
}

void check_main_lcore(const eal_vector& args, const cpu_list& lcores, preflight_report& report) {
  const auto main = args.value("--main-lcore");
  if (!main) return;
  const auto number = parse_number(*main);
  if (number && *number < max_cpus && contains(lcores, static_cast<unsigned>(*number))) return;
  report.failures.push_back({"--main-lcore=" + std::string(*main) + " is none of the lcores " + format_cpu_list(lcores),
                             "--main-lcore=" + std::to_string(lcores.front()), true});
}

// Notes an lcore far from a NIC it serves; which queues it gets is not known yet, so any distance is worth a word.
void note_distance(const eal_vector& args, const machine& host, const cpu_list& cpus, preflight_report& report) {
  for (const std::string_view device : args.values("-a")) {
    const pci_nic* nic = host.find_nic(device_name(device));
    if (nic == nullptr || nic->node < 0) continue;
    cpu_list far;
    for (const unsigned cpu : cpus)
      if (host.node_of_cpu(cpu) >= 0 && host.node_of_cpu(cpu) != nic->node) far.push_back(cpu);
    if (far.empty()) continue;
    std::string near;
    for (const cpu_node& node : host.nodes)
      if (node.node == nic->node) near = format_cpu_list(node.cpus);
    report.notes.push_back("NIC " + nic->address + " is on NUMA node " + std::to_string(nic->node) + ", " +
                           plural(far, "CPU") + " are not: every packet crosses nodes; near it are -l " + near);
  }
}

}  // namespace

void check_lcores(const eal_vector& complete, const machine& host, preflight_report& report) {
  const std::string word = lcores_word(complete);
  if (word.empty()) return;
  const auto chosen = chosen_lcores(complete);
  if (!chosen || chosen->lcores.empty()) {
    report.failures.push_back({word + " is no set of lcores", "-l 0,2-3", true});
    return;
  }
  const cpu_list usable = host.usable_cpus();
  if (!usable.empty()) {
    const cpu_list absent = without(chosen->cpus, host.online.empty() ? usable : host.online);
    const cpu_list refused = without(without(chosen->cpus, usable), absent);
    if (!absent.empty())
      report.failures.push_back({word + ": this machine has CPUs " +
                                     format_cpu_list(host.online.empty() ? usable : host.online) + ", not " +
                                     format_cpu_list(absent),
                                 "-l " + format_cpu_list(usable), true});
    if (!refused.empty())
      report.failures.push_back({word + ": the control group (container, cpuset) of this process allows CPUs " +
                                     format_cpu_list(usable) + ", not " + format_cpu_list(refused),
                                 "-l " + format_cpu_list(usable), true});
  }
  if (chosen->lcores.back() >= max_lcores)
    report.failures.push_back({word + ": EAL numbers lcores below " + std::to_string(max_lcores),
                               "--lcores '0@" + std::to_string(chosen->lcores.back()) + "'", true});
  check_main_lcore(complete, chosen->lcores, report);
  note_distance(complete, host, chosen->cpus, report);
}

void check_runtime_dir(const machine& host, preflight_report& report) {
  if (host.runtime_writable) return;
  report.failures.push_back({host.runtime_dir + " cannot be made or written by user " + std::to_string(host.euid) +
                                 ", and EAL keeps its sockets there",
                             runtime_dir_command, false});
}

void check_prefix(const eal_vector& args, preflight_report& report) {
  const auto prefix = args.value("--file-prefix");
  if (!prefix) return;
  // EAL makes a folder and files of this name and looks only for '%': with "../.." they would be anywhere.
  if (prefix->empty() || *prefix == "." || *prefix == ".." || prefix->find_first_of("/%") != std::string_view::npos)
    report.failures.push_back({"--file-prefix=" + std::string(*prefix) + " is no name of a folder",
                               "letters, digits, '-', '_' and '.', or leave it out", true});
}

preflight_report preflight(const eal_vector& complete, const machine& host, const eal_need& need) {
  preflight_report report;
  check_lcores(complete, host, report);
  check_runtime_dir(host, report);
  check_prefix(complete, report);
  check_devices(complete, host, need, report);
  check_memory(complete, host, need, report);
  // What the operator wrote wrong comes before what the machine lacks.
  std::vector<base::failure> ordered;
  for (const bool unusable : {true, false})
    for (const base::failure& failure : report.failures)
      if (failure.unusable == unusable) ordered.push_back(failure);
  report.failures = std::move(ordered);
  return report;
}

}  // namespace millrace::env
