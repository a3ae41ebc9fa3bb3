// The LLVM pipeline: emit, a few cheap passes named one by one (PassBuilder alone would weigh 11 MB), machine
// code. Explicit vectors leave little for an optimiser to find: locals to registers, common subexpressions,
// simple algebra, invariants out of loops. Objects have no undefined symbols: a kernel calls nothing. At the
// end stands what the library offers to the others.
#include <llvm/ADT/StringExtras.h>
#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/Analysis/BasicAliasAnalysis.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/MemorySSA.h>
#include <llvm/Analysis/OptimizationRemarkEmitter.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScopedNoAliasAA.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/PassInstrumentation.h>
#include <llvm/IR/PassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SROA.h>

#include <mutex>

#include "codegen/compiler_library.h"
#include "codegen/llvm/cpu.h"
#include "codegen/llvm/emit.h"
#include "support/error.h"

namespace ig::codegen {
namespace {

constexpr const char* kTriple = "x86_64-unknown-linux-gnu";

std::unique_ptr<llvm::TargetMachine> make_machine(const Target& target) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
  const Cpu cpu = cpu_of(target);
  std::string problem;
  const auto* registered = llvm::TargetRegistry::lookupTarget(kTriple, problem);
  IG_CHECK(registered != nullptr, "LLVM has no x86 target: {}", problem);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(
      registered->createTargetMachine(kTriple, cpu.name, cpu.features, options, llvm::Reloc::PIC_,
                                      llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
}

// One for each thread, kept for the next kernel: with its tables of what the processor can do it costs more
// to make than a small kernel's code.
llvm::TargetMachine& machine(const Target& target) {
  struct Made {
    Target target;
    std::unique_ptr<llvm::TargetMachine> machine;
  };
  thread_local Made made;
  if (!made.machine || made.target != target) made = {target, make_machine(target)};
  return *made.machine;
}

// Float16 is computed as float32, which holds it: vectors of it without instructions of their own LLVM takes
// apart lane by lane, at a hundred times the code. InstCombine narrows comparisons and single operations of
// what was widened to where it came from; here they are wide again, with the same results.
void widen_float16(llvm::Function& f) {
  llvm::SmallVector<llvm::Instruction*> narrow;
  for (llvm::Instruction& i : llvm::instructions(f))
    if (llvm::isa<llvm::FCmpInst, llvm::BinaryOperator>(i) &&
        i.getOperand(0)->getType()->getScalarType()->isHalfTy())
      narrow.push_back(&i);
  for (llvm::Instruction* i : narrow) {
    llvm::IRBuilder<> b(i);
    llvm::Type* wide = i->getOperand(0)->getType()->getWithNewType(b.getFloatTy());
    llvm::Value* one = b.CreateFPExt(i->getOperand(0), wide);
    llvm::Value* other = b.CreateFPExt(i->getOperand(1), wide);
    if (const auto* compare = llvm::dyn_cast<llvm::FCmpInst>(i))
      i->replaceAllUsesWith(b.CreateFCmp(compare->getPredicate(), one, other));
    else
      i->replaceAllUsesWith(b.CreateFPTrunc(
          b.CreateBinOp(llvm::cast<llvm::BinaryOperator>(i)->getOpcode(), one, other), i->getType()));
    i->eraseFromParent();
  }
}

void optimise(llvm::Module& module, llvm::TargetMachine& tm) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::ModuleAnalysisManager modules;
  modules.registerPass([] { return llvm::PassInstrumentationAnalysis(); });
  functions.registerPass([] { return llvm::PassInstrumentationAnalysis(); });
  loops.registerPass([] { return llvm::PassInstrumentationAnalysis(); });
  functions.registerPass([&] { return llvm::ModuleAnalysisManagerFunctionProxy(modules); });
  functions.registerPass([&] { return llvm::LoopAnalysisManagerFunctionProxy(loops); });
  loops.registerPass([&] { return llvm::FunctionAnalysisManagerLoopProxy(functions); });
  functions.registerPass([] {
    // No library function exists for a kernel, so nothing may be turned into a call of one.
    llvm::TargetLibraryInfoImpl library((llvm::Triple(kTriple)));
    library.disableAllFunctions();
    return llvm::TargetLibraryAnalysis(library);
  });
  functions.registerPass([&] { return tm.getTargetIRAnalysis(); });
  functions.registerPass([] { return llvm::AssumptionAnalysis(); });
  functions.registerPass([] { return llvm::DominatorTreeAnalysis(); });
  functions.registerPass([] { return llvm::BasicAA(); });
  functions.registerPass([] { return llvm::ScopedNoAliasAA(); });
  functions.registerPass([] {
    llvm::AAManager aliases;
    aliases.registerFunctionAnalysis<llvm::BasicAA>();
    aliases.registerFunctionAnalysis<llvm::ScopedNoAliasAA>();
    return aliases;
  });
  functions.registerPass([] { return llvm::LoopAnalysis(); });
  functions.registerPass([] { return llvm::MemorySSAAnalysis(); });
  functions.registerPass([] { return llvm::ScalarEvolutionAnalysis(); });
  functions.registerPass([] { return llvm::OptimizationRemarkEmitterAnalysis(); });

  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
  passes.addPass(llvm::EarlyCSEPass());
  passes.addPass(
      llvm::InstCombinePass(llvm::InstCombineOptions().setVerifyFixpoint(false).setMaxIterations(1)));
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()), true, false));
  for (llvm::Function& f : module)
    if (!f.isDeclaration()) {
      passes.run(f, functions);
      widen_float16(f);
    }
}

// An object that needs something from outside would fail only when loaded: better to fail here.
void check_symbols(llvm::StringRef bytes) {
  auto object = llvm::object::ObjectFile::createELFObjectFile(llvm::MemoryBufferRef(bytes, "kernel"));
  IG_CHECK(static_cast<bool>(object), "LLVM wrote an object that cannot be read: {}",
           llvm::toString(object.takeError()));
  for (const auto& symbol : (*object)->symbols()) {
    auto flags = symbol.getFlags();
    auto name = symbol.getName();
    if (!flags || !name) continue;
    IG_CHECK((*flags & llvm::object::SymbolRef::SF_Undefined) == 0 || name->empty(), "machine code calls {}",
             name->str());
  }
}

std::unique_ptr<llvm::Module> build(llvm::LLVMContext& context,
                                    std::span<const loop::Function* const> functions,
                                    std::span<const std::string> symbols, const Target& target,
                                    llvm::TargetMachine& tm) {
  IG_CHECK(functions.size() == symbols.size(), "{} functions and {} symbols", functions.size(),
           symbols.size());
  context.setDiscardValueNames(true);
  auto module = std::make_unique<llvm::Module>("kernels", context);
  module->setTargetTriple(kTriple);
  module->setDataLayout(tm.createDataLayout());
  for (size_t i = 0; i < functions.size(); ++i) Emitter(*functions[i], target, *module).emit(symbols[i]);
#ifndef NDEBUG
  std::string problem;
  llvm::raw_string_ostream out(problem);
  IG_CHECK(!llvm::verifyModule(*module, &out), "invalid LLVM IR: {}", out.str());
#endif
  return module;
}

std::string emit_file(llvm::Module& module, llvm::TargetMachine& tm, llvm::CodeGenFileType type) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  llvm::legacy::PassManager passes;
  bool refused = tm.addPassesToEmitFile(passes, out, nullptr, type, /*DisableVerify=*/true);
  IG_CHECK(!refused, "LLVM cannot write files of kind {}", static_cast<int>(type));
  passes.run(module);
  return {bytes.begin(), bytes.end()};
}

std::string generate(std::span<const loop::Function* const> functions, std::span<const std::string> symbols,
                     const Target& target, Form form) {
  llvm::TargetMachine& tm = machine(target);
  llvm::LLVMContext context;
  // What it finds wrong LLVM would print, and go on to code that does anything.
  std::string problem;
  context.setDiagnosticHandlerCallBack(
      [](const llvm::DiagnosticInfo* info, void* to) {
        if (info->getSeverity() != llvm::DS_Error) return;
        llvm::raw_string_ostream out(*static_cast<std::string*>(to));
        llvm::DiagnosticPrinterRawOStream printer(out);
        info->print(printer);
      },
      &problem);
  auto checked = [&](std::string made) {
    IG_CHECK(problem.empty(), "LLVM refuses kernel {}: {}", symbols[0], problem);
    return made;
  };
  auto module = build(context, functions, symbols, target, tm);
  if (form != Form::Ir) optimise(*module, tm);
  if (form == Form::Assembly) return checked(emit_file(*module, tm, llvm::CodeGenFileType::AssemblyFile));
  if (form == Form::Object) {
    std::string object = checked(emit_file(*module, tm, llvm::CodeGenFileType::ObjectFile));
    check_symbols(object);
    return object;
  }
  std::string text;
  llvm::raw_string_ostream out(text);
  module->print(out, nullptr);
  return out.str();
}

constexpr CompilerLibrary kLibrary = {LLVM_VERSION_STRING, generate};

}  // namespace
}  // namespace ig::codegen

extern "C" const ig::codegen::CompilerLibrary* intaglio_compiler() { return &ig::codegen::kLibrary; }
