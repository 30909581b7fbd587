//! kiddo's trees of three floats as C functions, for compare_knn_kiddo.cpp: built by cargo (Cargo.toml beside it), linked where
//! -DKD_KIDDO_LIBRARY names the library.
use kiddo::leaf_strategies::{FlatVec, VecOfArenas};
use kiddo::{Donnelly, Eytzinger, KdTree, SquaredEuclidean};
use std::num::NonZero;

const LEAF: usize = 32;

/// The kinds of stems and leaves that kiddo offers without unstable Rust and that differ in speed; the first is its default.
enum Tree {
    Default(KdTree<f32, u32, Eytzinger, VecOfArenas<f32, u32, 3, LEAF>, 3, LEAF>),
    Flat(KdTree<f32, u32, Eytzinger, FlatVec<f32, u32, 3, LEAF>, 3, LEAF>),
    Blocks(KdTree<f32, u32, Donnelly<4>, FlatVec<f32, u32, 3, LEAF>, 3, LEAF>),
}

/// A tree of `count` points of three floats: kind 0, 1 or 2, as above. Closed by kiddo_close.
///
/// # Safety
/// `points` has count * 3 floats.
#[no_mangle]
pub unsafe extern "C" fn kiddo_open(points: *const [f32; 3], count: usize, kind: u32) -> *mut std::ffi::c_void {
    let points = std::slice::from_raw_parts(points, count);
    let tree = match kind {
        0 => Tree::Default(KdTree::new_from_slice(points).unwrap()),
        1 => Tree::Flat(KdTree::new_from_slice(points).unwrap()),
        _ => Tree::Blocks(KdTree::new_from_slice(points).unwrap()),
    };
    Box::into_raw(Box::new(tree)).cast()
}

/// # Safety
/// `tree` is one of kiddo_open, not closed yet.
#[no_mangle]
pub unsafe extern "C" fn kiddo_close(tree: *mut std::ffi::c_void) {
    drop(Box::from_raw(tree.cast::<Tree>()));
}

/// The k nearest of `count` queries of three floats; the sum over these of the distance to the k-th.
///
/// # Safety
/// `tree` is open and has k points or more; `queries` has count * 3 floats.
#[no_mangle]
pub unsafe extern "C" fn kiddo_query(tree: *const std::ffi::c_void, queries: *const [f32; 3], count: usize, k: u32) -> f64 {
    let queries = std::slice::from_raw_parts(queries, count);
    macro_rules! ask {
        ($tree:expr) => {{
            let ask_one = |x| $tree.query(x).nearest_one::<SquaredEuclidean<f32>>().execute().distance;
            let wanted = NonZero::new(k as usize).unwrap();
            let query_some = |x| $tree.query(x).nearest_n::<SquaredEuclidean<f32>>(wanted).execute().last().unwrap().distance;
            match k {
                1 => queries.iter().map(|x| f64::from(ask_one(x).sqrt())).sum(),
                _ => queries.iter().map(|x| f64::from(query_some(x).sqrt())).sum(),
            }
        }};
    }
    match &*tree.cast::<Tree>() {
        Tree::Default(tree) => ask!(tree),
        Tree::Flat(tree) => ask!(tree),
        Tree::Blocks(tree) => ask!(tree),
    }
}
