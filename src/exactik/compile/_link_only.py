"""A compiler for functions that compiled functions call.

Numba optimises every function by itself and makes machine code of it, then links its code into each
caller, where it is optimised again, and so on up to the function that Python calls.
`LinkOnlyCompiler` stops at the linking: code is optimised once, in the outermost function.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.typed_passes import NativeLowering


class LinkOnlyLibrary(JITCodeLibrary):
    """Code of one function as it was generated; those that it calls are linked when one asks."""

    _whole: Any = None

    def finalize(self) -> None:
        for library in self._linking_libraries:
            self._reload_init.update(library._reload_init)
        self._finalize_dynamic_globals()
        self._finalized = True

    def add_needed(self, modules: dict[Any, Any]) -> None:
        """Add the modules of this function and of all that it calls, by their libraries."""
        if self not in modules:
            modules[self] = super()._get_module_for_linking()
            for library in dict.fromkeys(self._linking_libraries):
                if isinstance(library, LinkOnlyLibrary):
                    library.add_needed(modules)
                elif library not in modules:
                    modules[library] = library._get_module_for_linking()

    def _get_module_for_linking(self) -> Any:
        if self._whole is None:
            modules: dict[Any, Any] = {}
            self.add_needed(modules)
            own, *called = modules.values()
            self._whole = link_into(own.clone(), called)
        return self._whole


def link_into(whole: Any, modules: Iterable[Any]) -> Any:
    """Link into a module of LLVM what it refers to of others, which stay as they are.

    Linking takes no function that nothing refers to by then. What only a later module refers to is
    missing after the first round.
    """
    modules, missing = list(modules), set()
    late = modules
    while len(late) > 0:
        for module in late:
            whole.link_in(module, preserve=True)
        before, missing = missing, {f.name for f in whole.functions if f.is_declaration}
        late = [m for m in modules if missing != before and _defines(m, missing)]
    return whole


def _defines(module: Any, names: set[str]) -> bool:
    """Whether a module has the code of any function of these names."""
    return any(f.name in names and not f.is_declaration for f in module.functions)


@register_pass(mutates_CFG=True, analysis_only=False)
class _LinkOnlyLowering(NativeLowering):
    """Generate the code; do not optimise it and make no machine code."""

    _name = "link_only_lowering"

    def run_pass(self, state: Any) -> Literal[True]:
        context = state.targetctx
        state.library = LinkOnlyLibrary(context.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        state.library._ensure_finalized()
        # Numba wants a built-in function that stands for the code; called, this one raises.
        entry_point = {}.popitem
        context.insert_user_function(entry_point, state.cr.fndesc, [state.library])
        state.cr = state.cr._replace(cfunc=entry_point)
        return True


class LinkOnlyCompiler(CompilerBase):
    """Numba's compiler up to and without optimisation."""

    def define_pipelines(self) -> list[PassManager]:
        """Return the passes."""
        usual = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes = PassManager("link only")
        for each, description in usual.passes:
            passes.add_pass(_LinkOnlyLowering if each is NativeLowering else each, description)
        passes.finalize()
        return [passes]
